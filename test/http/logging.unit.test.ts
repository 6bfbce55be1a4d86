import { expect, it } from 'vitest';
import { createLog } from '../../src/http/index.js';

/** The line that an error becomes. */
function logged(error: Error): string {
  const lines: string[] = [];
  const { logger } = createLog('info', { write: (line) => void lines.push(line) });
  logger.error({ err: error }, 'failed');
  return lines.join('');
}

it('an error of the database is logged without the rows that it carries', () => {
  const row = { detail: 'Failing row contains (secret).', where: 'COPY secret', parameters: ['secret'] };
  const line = logged(Object.assign(new Error('violates check constraint "c"'), { code: '23514', ...row }));
  expect(JSON.parse(line).err).toMatchObject({ code: '23514', message: 'violates check constraint "c"' });
  expect(line).not.toContain('secret');
});

it.each(['secret', 'a "secret" in quotes', 'a\nsecret on a line of its own'])(
  'one about a value is logged without the value %j, also as a cause and in its stack',
  (value) => {
    const message = `invalid input syntax for type uuid: "${value}"`;
    const fault = Object.assign(new Error(message), { code: '22P02' });
    for (const error of [fault, new Error('the batch failed', { cause: fault })]) {
      const line = logged(error);
      expect(line).toContain('invalid input syntax for type uuid: \\"…\\"');
      expect(line).toContain('logging.unit.test.ts');
      expect(line).not.toContain('secret');
    }
  },
);

it('any other error keeps its message', () => {
  expect(JSON.parse(logged(new Error('the field "x" is missing'))).err.message).toBe(
    'the field "x" is missing',
  );
});
