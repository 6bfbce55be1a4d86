import { z } from 'zod';
import { EXAMPLES_MAX, INVARIANTS } from './types.js';

const int = z.int().min(0);

export const checkup = z
  .object({
    ok: z.boolean().meta({ description: 'Whether every rule holds.' }),
    checked_at: z.iso.datetime(),
    position: int.meta({ description: 'The position in the log at which everything was checked.' }),
    rules: z.array(
      z.object({
        rule: z.enum(INVARIANTS.map(({ rule }) => rule)),
        promise: z.string().meta({ description: 'What holds, in one sentence.' }),
        broken: int.meta({ description: 'How many objects break it.' }),
        examples: z
          .array(z.string())
          .meta({ description: `Ids of what breaks it, at most ${EXAMPLES_MAX}.` }),
      }),
    ),
  })
  .meta({ id: 'Checkup' });
