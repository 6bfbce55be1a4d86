import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.js';

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

describe('a list', () => {
  it.each(['tasks', 'runs', 'trips', 'agents', 'projects'])(
    'of %s refuses a cursor that it did not give',
    async (list) => {
      for (const cursor of ['nonsense', Buffer.from('-'.repeat(36)).toString('base64url')]) {
        const { body } = await app.as('operator').get(`/v1/${list}?cursor=${cursor}`).expect(400);
        expect(body).toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/query/cursor' }] });
      }
    },
  );
});
