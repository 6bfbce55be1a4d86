import { z } from 'zod';
import { pageOf } from '../../http/fields.js';
import { ROLES } from '../../kernel/actor.js';
import { ID_PREFIXES } from '../../kernel/ids.js';

const role = z.enum(ROLES);
const id = z.string().meta({ examples: [`${ID_PREFIXES.agent}_01939b1e-7c4a-7f3e-8a2b-5d6c7e8f9a0b`] });
const keyId = z.string().meta({ examples: ['3mKq0ZtR8vYb1NcE'] });
const time = z.iso.datetime();
const apiKey = z.string().optional().describe('Told once; a replay comes without it.');

/** The body that adds an agent. */
export const createAgentBody = z
  .strictObject({
    name: z.string().trim().min(1).max(100),
    roles: z
      .array(role)
      .min(1)
      .max(ROLES.length)
      .refine((roles) => new Set(roles).size === roles.length, 'Each role may be given once.')
      .meta({ uniqueItems: true }),
  })
  .meta({ id: 'AgentCreate', examples: [{ name: 'night-executor', roles: ['executor'] }] });

/** The body that adds a key: it takes nothing. */
export const createKeyBody = z.strictObject({}).meta({ examples: [{}] });

/** The path of one agent. */
export const agentParams = z.strictObject({ id: z.string().max(100) });

/** The path of one key. */
export const keyParams = z.strictObject({ id: z.string().max(100), key_id: z.string().max(100) });

const agentShape = {
  id,
  project_id: z.string(),
  name: z.string(),
  roles: z.array(role),
  last_seen_at: time.nullable(),
  created_at: time,
  keys: z.array(z.object({ id: keyId, created_at: time, revoked_at: time.nullable() })),
};

/** An agent on the wire. */
export const agentOut = z.object(agentShape).meta({ id: 'Agent' });

/** An agent that was just added: the only time that its key is told. */
export const newAgentOut = z.object({ ...agentShape, api_key: apiKey }).meta({ id: 'NewAgent' });

/** A key that was just added. */
export const newKeyOut = z.object({ id: keyId, created_at: time, api_key: apiKey }).meta({ id: 'NewKey' });

/** A page of agents. */
export const agentListOut = pageOf(agentOut).meta({ id: 'AgentList' });

/** The caller itself. */
export const meOut = z
  .object({
    project: z.object({ id: z.string(), name: z.string() }),
    agent: z.object({ id, name: z.string() }),
    roles: z.array(role),
    key_id: keyId.nullable(),
  })
  .meta({ id: 'Me' });
