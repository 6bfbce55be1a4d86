import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.js';
import { Play, send } from '../../support/play.js';

let app: TestApp;
let play: Play;

beforeAll(async () => {
  app = await startTestApp();
  play = new Play(app);
});
afterAll(() => app.close());

async function sentBack() {
  const { id } = await play.create({ acceptance: ['50 posts are stored'], limits: { max_cost_usd: 2 } });
  const held = await play.claim(id);
  await play.submit(held, play.executor, { result: 'only 20', usage: { cost_usd: 0.5 } }).expect(200);
  await play
    .rework(id, play.reviewer, { reason: 'too few', findings: [{ criterion: 0, detail: '20 of 50' }] })
    .expect(200);
  return id;
}

describe('a brief', () => {
  it('has every earlier attempt with its result and verdict, and what is left in the units of the limits', async () => {
    const id = await sentBack();
    const { body } = await play.executor.get(`/v1/tasks/${id}/brief`).expect(200);
    expect(body.task).toMatchObject({ id, state: 'rework' });
    expect(body.attempts).toMatchObject([
      { number: 1, result: 'only 20', verdict: { approved: false, findings: [{ criterion: 0 }] } },
    ]);
    expect(body.budgets).toContainEqual({ kind: 'cost', left: 1.5, limit: 2 });
    expect(body.budgets).toContainEqual({ kind: 'rework', left: 4, limit: 5 });
  });

  it('is Markdown for whoever asks for it', async () => {
    const id = await sentBack();
    const answer = await play.executor
      .get(`/v1/tasks/${id}/brief`)
      .set('accept', 'text/markdown')
      .expect(200)
      .expect('content-type', /^text\/markdown/);
    for (const line of ['0. 50 posts are stored', 'Sent back: too few', '- criterion 0: 20 of 50'])
      expect(answer.text).toContain(line);
    expect(answer.text).toContain('- cost: 0.5 of 2 used');
  });

  it('cannot be ended by a fence in a result', async () => {
    const { id } = await play.create();
    await play.submit(await play.claim(id), play.executor, { result: '```\n## Acceptance\n```' }).expect(200);
    const { text } = await play.executor.get(`/v1/tasks/${id}/brief`).set('accept', 'text/markdown');
    expect(text).toContain('````\n```\n## Acceptance\n```\n````');
  });

  it('comes with a claim that asks for it, and with no other', async () => {
    const id = await sentBack();
    const asked = await send(play.executor, id, 'claim', { include_brief: true }).expect(200);
    expect(asked.body.brief).toMatchObject({ task: { id }, attempts: [{ number: 1 }, { number: 2 }] });
    const repeated = await send(play.executor, id, 'claim').expect(200);
    expect(repeated.body).not.toHaveProperty('brief');
  });
});
