import type { Test } from 'supertest';
import type { TestApp } from '../../support/app.js';
import { OPERATIONS } from '../hostile/contract.js';
import { CUT_OFF, MISPLACED } from './marks.js';
import type { Witness } from './witness.js';

const SOMEBODY = 'task_01939b1e-7c4a-7f3e-8a2b-5d6c7e8f9a0b';

function sendAs(app: TestApp, key: string | null, method: string, path: string, body: object): Test {
  const agent = app.withKey(key);
  switch (method) {
    case 'POST':
      return agent.post(path).send(body);
    case 'PATCH':
      return agent.patch(path).send(body);
    case 'DELETE':
      return agent.delete(path);
    default:
      return agent.get(path);
  }
}

/** Sends every operation with a key in every place where one does not belong, and with keys that open nothing. */
export async function misplaceKeys(app: TestApp, witness: Witness, revoked: string): Promise<void> {
  const { operator } = app.keys;
  for (const { id, method, path } of OPERATIONS) {
    // A stream that is let in does not end.
    const target = `${path.replaceAll(/\{\w+\}/g, SOMEBODY)}${id === 'stream_events' ? '?after=none' : ''}`;
    const as = (key: string | null, to = target, body: object = {}) => sendAs(app, key, method, to, body);
    const basic = Buffer.from(`operator:${MISPLACED.otherScheme}`).toString('base64');
    const other = MISPLACED.otherHeader;
    for (const sent of [
      as(operator, `${path.replaceAll(/\{\w+\}/g, MISPLACED.path)}/${MISPLACED.path}`),
      as(operator, path.includes('{') ? path.replaceAll(/\{\w+\}/g, MISPLACED.path) : target),
      as(
        operator,
        `${target.replace(/\?.*/, '')}?api_key=${MISPLACED.query}&q=${MISPLACED.query}&after=none`,
      ),
      as(operator, target, { api_key: MISPLACED.body }),
      as(operator, target, { [MISPLACED.body]: 1 }),
      as(operator, target, { title: MISPLACED.content, reason: MISPLACED.content }),
      as(MISPLACED.unknown),
      as(CUT_OFF),
      as(revoked),
      as(null).set('authorization', `Basic ${basic}`),
      as(operator).set('x-request-id', MISPLACED.requestId),
      as(operator).set('idempotency-key', MISPLACED.retryKey),
      as(operator).set({ 'x-api-key': other, cookie: `key=${other}`, 'user-agent': other, referer: other }),
      as(operator).set({ 'if-match': other, 'if-none-match': other, prefer: other, accept: other }),
      as(operator).set({ 'last-event-id': other, traceparent: other }),
    ])
      await witness.see(id, sent);
  }
}
