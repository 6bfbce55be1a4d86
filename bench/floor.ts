import fastify from 'fastify';
import { createPool } from '../src/db/pool.js';
import { rowsOf } from '../src/db/statement.js';

// The floor's process: bare Fastify and one named statement a request, on the product's own schema and through the product's
// own pool. It knows no keys, validates nothing, logs nothing, and writes nothing but the row in `tasks`.

const { DATABASE_URL = '' } = process.env;
const quiet = { info() {}, warn() {}, error() {} };
const pool = createPool({ databaseUrl: DATABASE_URL, poolSize: 8, statementTimeoutMs: 5000 }, quiet);

const ANSWER = `t.id, t.run_id, t.title, t.description, t.acceptance, t.priority, t.labels, t.depends_on, t.state, t.lease_token,
  t.lease_expires_at, t.attempt, t.version, t.created_at, t.updated_at`;

const CLAIM = `UPDATE tasks t SET state = 'in_progress', queue = NULL, claimed_by = $3, lease_kind = 'work', lease_agent = $3,
    lease_token = t.lease_token + 1, lease_seconds = $4::int, lease_started_at = now(), lease_expires_at = now() + $4::int * interval '1 s',
    due_at = now() + $4::int * interval '1 s', attempt = t.attempt + 1, version = t.version + 1, updated_at = now()
  WHERE (t.project_id, t.id) = (SELECT project_id, id FROM tasks
    WHERE project_id = $1 AND run_id = $2 AND queue = 'work' ORDER BY rank, ready_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING ${ANSWER}`;

const END_LEASE = `lease_kind = NULL, lease_agent = NULL, lease_seconds = NULL, lease_started_at = NULL, lease_expires_at = NULL,
  due_at = NULL, version = t.version + 1, updated_at = now()`;

const SUBMIT = `UPDATE tasks t SET state = 'in_review', queue = 'review', ready_at = now(), ${END_LEASE}
  WHERE project_id = $1 AND id = $2 AND state = 'in_progress' AND lease_token = $3 RETURNING ${ANSWER}`;

const APPROVE = `UPDATE tasks t SET state = 'done', queue = NULL, finished_at = now(), ${END_LEASE}
  WHERE project_id = $1 AND id = $2 AND state = 'in_review' RETURNING ${ANSWER}`;

interface Row {
  readonly [column: string]: unknown;
  readonly lease_token: number;
}

async function placeOfWork(): Promise<{ projectId: string; runId: string; agentId: string }> {
  const [place] = await rowsOf<{ projectId: string; runId: string; agentId: string }>(pool, {
    name: 'place',
    text: `SELECT r.project_id AS "projectId", r.id AS "runId", a.id AS "agentId" FROM runs r JOIN agents a USING (project_id)
      WHERE r.is_default AND a.name = 'executor'`,
    values: [],
  });
  if (place === undefined) throw new Error('the database has no project');
  return place;
}

const { projectId, runId, agentId } = await placeOfWork();
const app = fastify();

app.post<{ Body: { lease_seconds: number } }>('/v1/tasks/claim', async (request, reply) => {
  const values = [projectId, runId, agentId, request.body.lease_seconds];
  const [task] = await rowsOf<Row>(pool, { name: 'claim', text: CLAIM, values });
  if (task === undefined) return reply.code(204).send();
  return { claims: [{ task, lease_token: task.lease_token }] };
});

app.post<{ Params: { id: string }; Body: { lease_token: number } }>(
  '/v1/tasks/:id/submit',
  async (request, reply) => {
    const values = [projectId, request.params.id, request.body.lease_token];
    const [task] = await rowsOf<Row>(pool, { name: 'submit', text: SUBMIT, values });
    return task ?? reply.code(409).send();
  },
);

app.post<{ Params: { id: string } }>('/v1/tasks/:id/approve', async (request, reply) => {
  const values = [projectId, request.params.id];
  const [task] = await rowsOf<Row>(pool, { name: 'approve', text: APPROVE, values });
  return task ?? reply.code(409).send();
});

await app.listen({ port: 0, host: '127.0.0.1' });
const address = app.server.address();
process.send?.({ port: typeof address === 'object' ? address?.port : null });
process.once('SIGTERM', async () => {
  await app.close();
  await pool.end();
  process.disconnect?.();
});
