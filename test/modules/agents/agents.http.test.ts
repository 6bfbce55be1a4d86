import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.js';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

describe('who am I', () => {
  it('tells project, agent, roles and key', async () => {
    const { body } = await app.as('planner').get('/v1/me').expect(200);
    expect(body).toMatchObject({
      project: { name: 'default' },
      agent: { name: 'planner' },
      roles: ['planner'],
    });
    expect(app.keys.planner).toContain(body.key_id);
  });
});
