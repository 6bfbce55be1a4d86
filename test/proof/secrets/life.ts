import type TestAgent from 'supertest/lib/agent.js';
import type { TestApp } from '../../support/app.js';
import { WORDS } from './marks.js';
import type { Witness } from './witness.js';

/** A life of a board in which everything that agents may write is marked, seen by a witness. */
export class Life {
  private readonly planner: TestAgent;
  private readonly executor: TestAgent;
  private readonly reviewer: TestAgent;
  private readonly operator: TestAgent;

  constructor(
    private readonly app: TestApp,
    private readonly witness: Witness,
  ) {
    this.planner = app.as('planner');
    this.executor = app.as('executor');
    this.reviewer = app.as('reviewer');
    this.operator = app.as('operator');
  }

  /** Every operation, with success. */
  async live(): Promise<void> {
    const { approved, tripped } = await this.work();
    await this.stop();
    const run = await this.runs();
    await this.administer();
    await this.read(approved, tripped, run);
  }

  private task(id: string, command: string, agent: TestAgent, body: object) {
    const operation = command === 'usage' ? 'report_usage' : `${command}_task`;
    return this.witness.see(operation, agent.post(`/v1/tasks/${id}/${command}`).send(body));
  }

  private async newTask(fields: object = {}): Promise<string> {
    const body = {
      title: WORDS.title,
      description: WORDS.description,
      acceptance: [WORDS.acceptance],
      labels: [WORDS.label],
      ...fields,
    };
    const sent = this.planner
      .post('/v1/tasks')
      .set('idempotency-key', `${WORDS.retryKey} ${Math.random()}`)
      .set('x-request-id', WORDS.requestId)
      .send(body);
    return (await this.witness.see('create_task', sent)).body.id;
  }

  private async claim(id: string): Promise<number> {
    const { body } = await this.task(id, 'claim', this.executor, { include_brief: true, for: 'work' });
    return body.lease_token;
  }

  private async submit(id: string): Promise<void> {
    const lease_token = await this.claim(id);
    await this.task(id, 'heartbeat', this.executor, { lease_token });
    await this.task(id, 'usage', this.executor, { lease_token, tokens: { input: 10 } });
    const result = { text: WORDS.result, webhook: `https://user:${WORDS.result}@hooks.example/x` };
    await this.task(id, 'submit', this.executor, { lease_token, result });
  }

  private async work(): Promise<{ readonly approved: string; readonly tripped: string }> {
    const approved = await this.newTask({ dedupe_key: WORDS.dedupeKey });
    await this.submit(approved);
    const finding = { criterion: 0, detail: WORDS.finding };
    await this.task(approved, 'rework', this.reviewer, { reason: WORDS.objection, findings: [finding] });
    await this.submit(approved);
    await this.task(approved, 'approve', this.reviewer, { note: WORDS.note });

    const tripped = await this.newTask({ limits: { max_errors: 1 } });
    const lease_token = await this.claim(tripped);
    const error = {
      message: `${WORDS.errorMessage} at https://user:${WORDS.errorMessage}@hooks.example`,
      detail: { stderr: WORDS.errorDetail },
    };
    await this.task(tripped, 'fail', this.executor, { lease_token, error });
    await this.task(tripped, 'submit', this.executor, { lease_token, result: WORDS.lateResult });
    const trips = await this.witness.see('list_trips', this.planner.get('/v1/trips?state=open'));
    const trip = trips.body.data[0].id;
    await this.witness.see('get_trip', this.planner.get(`/v1/trips/${trip}`));
    await this.witness.see('get_trip', this.planner.get(`/v1/trips/${trip}`).set('accept', 'text/markdown'));
    const recovery = { strategy: 'reset', reason: WORDS.unblockReason };
    await this.witness.see('recover_trip', this.planner.post(`/v1/trips/${trip}/recover`).send(recovery));
    await this.witness.see('get_recovery_stats', this.planner.get('/v1/recoveries/stats'));
    return { approved, tripped };
  }

  /** Given back, lost, blocked, lifted, changed, cancelled. */
  private async stop(): Promise<void> {
    const id = await this.newTask();
    const given = await this.claim(id);
    await this.task(id, 'release', this.executor, { lease_token: given, reason: WORDS.releaseReason });
    const lost = await this.claim(id);
    this.app.clock.advance(301_000);
    await this.app.tasks.sweep();
    await this.task(id, 'submit', this.executor, { lease_token: lost, result: WORDS.lateResult });
    await this.task(id, 'block', this.planner, { kind: 'needs_input', reason: WORDS.blockReason });
    await this.task(id, 'claim', this.executor, {});
    await this.task(id, 'unblock', this.planner, { reason: WORDS.unblockReason });
    const edit = { description: `${WORDS.description}, better` };
    const changed = this.planner.patch(`/v1/tasks/${id}`).set('if-match', '*').send(edit);
    await this.witness.see('update_task', changed);
    await this.task(id, 'cancel', this.planner, { reason: WORDS.cancelReason });
    const next = this.executor.post('/v1/tasks/claim').send({ labels: [WORDS.label], include_brief: true });
    const { body } = await this.witness.see('claim_next_task', next);
    for (const { task, lease_token } of body.claims)
      await this.task(task.id, 'release', this.executor, { lease_token });
  }

  private async runs(): Promise<string> {
    const plan = {
      run: { name: WORDS.runName, limits: { max_iterations: 1 } },
      tasks: [{ ref: 'one', title: WORDS.title }],
    };
    const made = await this.witness.see('create_plan', this.planner.post('/v1/plans').send(plan));
    const { id, run_id: run } = made.body.tasks[0];
    await this.claim(id);
    const recovery = {
      reason: WORDS.runReason,
      changes: { limits: { max_iterations: 50 } },
    };
    await this.witness.see('recover_run', this.planner.post(`/v1/runs/${run}/recover`).send(recovery));
    const renamed = this.planner.patch(`/v1/runs/${run}`).set('if-match', '*').send({ name: WORDS.runName });
    await this.witness.see('update_run', renamed);
    const closing = this.planner.post(`/v1/runs/${run}/close`).send({ reason: WORDS.runReason });
    await this.witness.see('close_run', closing);
    await this.witness.see('create_run', this.planner.post('/v1/runs').send({ name: WORDS.runName }));
    return run;
  }

  private async administer(): Promise<void> {
    const { witness, operator } = this;
    const wanted = { name: WORDS.agentName, roles: ['executor'] };
    const made = await witness.see('create_agent', operator.post('/v1/agents').send(wanted));
    const keys = `/v1/agents/${made.body.id}/keys`;
    const more = await witness.see('create_agent_key', operator.post(keys).send({}));
    await witness.see('revoke_agent_key', operator.delete(`${keys}/${more.body.id}`));
    await witness.see('get_me', this.app.withKey(more.body.api_key).get('/v1/me'));
    this.issued.push(made.body.api_key);
    this.revoked.push(more.body.api_key);
    const project = await witness.see(
      'create_project',
      operator.post('/v1/projects').send({ name: WORDS.projectName }),
    );
    this.issued.push(project.body.api_key);
    const limits = { limits: { max_reworks: 7 } };
    const changed = operator.patch('/v1/projects/current').set('if-match', '*').send(limits);
    await witness.see('update_project', changed);
    const breakers = await witness.see('list_breakers', operator.get('/v1/breakers'));
    const breaker = `/v1/breakers/${breakers.body.data[0].id}`;
    const reason = { reason: WORDS.breakerReason };
    await witness.see('isolate_breaker', operator.post(`${breaker}/isolate`).send(reason));
    await witness.see('claim_next_task', this.executor.post('/v1/tasks/claim').send({}));
    await witness.see('list_breakers', operator.get('/v1/breakers'));
    await witness.see('close_breaker', operator.post(`${breaker}/close`).send(reason));
  }

  /** Keys that were told on the way, and are in force. */
  readonly issued: string[] = [];
  /** Keys that were, and are not. */
  readonly revoked: string[] = [];

  private async read(approved: string, tripped: string, run: string): Promise<void> {
    const { witness } = this;
    for (const [operation, agent, path] of [
      ['get_me', this.executor, '/v1/me'],
      ['list_tasks', this.executor, `/v1/tasks?q=${WORDS.search}`],
      ['list_tasks', this.executor, `/v1/tasks?label=${WORDS.label}&limit=1`],
      ['look_at_claimable', this.executor, '/v1/tasks/claimable'],
      ['get_task', this.executor, `/v1/tasks/${approved}`],
      ['get_task_brief', this.executor, `/v1/tasks/${approved}/brief`],
      ['get_task_guard', this.executor, `/v1/tasks/${tripped}/guard`],
      ['list_attempts', this.executor, `/v1/tasks/${tripped}/attempts`],
      ['list_task_events', this.executor, `/v1/tasks/${tripped}/events`],
      ['list_events', this.executor, '/v1/events?limit=200'],
      ['list_runs', this.executor, '/v1/runs'],
      ['get_run', this.executor, `/v1/runs/${run}`],
      ['get_project', this.executor, '/v1/projects/current'],
      ['list_projects', this.operator, '/v1/projects'],
      ['list_agents', this.operator, '/v1/agents'],
      ['list_trips', this.planner, '/v1/trips'],
    ] as const)
      await witness.see(operation, agent.get(path));
    const markdown = this.executor.get(`/v1/tasks/${tripped}/brief`).set('accept', 'text/markdown');
    await witness.see('get_task_brief', markdown);
    await witness.see('simulate', this.planner.post('/v1/projects/current/simulate').send({}));
    await this.follow();
  }

  /** The stream, until it has told everything there is. */
  private async follow(): Promise<void> {
    const gone = new AbortController();
    const answer = await fetch(`${this.app.url}/v1/events/stream`, {
      headers: { authorization: `Bearer ${this.app.keys.executor}` },
      signal: gone.signal,
    });
    const { rows } = await this.app.pool.query("SELECT position FROM projects WHERE name = 'default'");
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of answer.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.includes(`\nid: ${rows[0].position}\n`)) break;
    }
    gone.abort();
    this.witness.hear('stream_events', answer.status, text);
  }
}
