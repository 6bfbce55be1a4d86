import { type Column, jsons, overColumns, plain, type Statement, timestamp } from '../../../db/statement.js';
import type { AttemptWrite } from '../decide/draft.js';

/** Each row's place, looked up one by one; `write-tasks.ts` says why. */
const PLACE_OF_ATTEMPT =
  '(SELECT a.ctid FROM attempts a WHERE a.project_id = $1 AND a.task_id = u.task_id AND a.number = u.number) AS place';

/** Opens attempts: one row each, kept for ever. */
export function insertAttempts(projectId: string, attempts: readonly AttemptWrite[]): Statement {
  return {
    ...INSERT_ATTEMPTS(attempts.length),
    values: [
      projectId,
      ...attemptColumns(attempts),
      plain(attempts, (a) => a.agentId ?? null),
      plain(attempts, (a) => a.leaseToken ?? null),
      plain(attempts, (a) => a.sessionId ?? null),
      plain(attempts, (a) => timestamp(a.claimedAt ?? null)),
    ],
  };
}

/** Adds to attempts what became of them. What is absent stays; a verdict and a late result are kept as they first came. */
export function updateAttempts(projectId: string, attempts: readonly AttemptWrite[]): Statement {
  return {
    ...UPDATE_ATTEMPTS(attempts.length),
    values: [projectId, ...attemptColumns(attempts)],
  };
}

const WRITTEN_OF_ATTEMPT: readonly Column[] = [
  ['task_id', 'uuid'],
  ['number', 'int'],
  ['ended_at', 'timestamptz'],
  ['outcome', 'text'],
  ['result_hash', 'text'],
  ['result', 'json'],
  ['late_result', 'json'],
  ['error', 'json'],
  ['usage', 'json'],
  ['change', 'json'],
  ['verdict', 'json'],
];

const OPENED_WITH_ATTEMPT: readonly Column[] = [
  ['agent_id', 'uuid'],
  ['lease_token', 'int'],
  ['session_id', 'uuid'],
  ['claimed_at', 'timestamptz'],
];

const INSERT_ATTEMPTS = overColumns(
  'attempts_insert',
  [...WRITTEN_OF_ATTEMPT, ...OPENED_WITH_ATTEMPT],
  (
    rows,
  ) => `INSERT INTO attempts (project_id, task_id, number, agent_id, lease_token, session_id, claimed_at, ended_at, outcome, result_hash, result,
        late_result, error, usage, change, verdict)
      SELECT $1, u.task_id, u.number, u.agent_id, u.lease_token, u.session_id, u.claimed_at, u.ended_at, u.outcome, u.result_hash, nullif(u.result, 'null'),
        nullif(u.late_result, 'null'), nullif(u.error, 'null'), u.usage, nullif(u.change, 'null'), nullif(u.verdict, 'null')
      FROM ${rows}`,
);

const UPDATE_ATTEMPTS = overColumns(
  'attempts_update',
  WRITTEN_OF_ATTEMPT,
  (rows) => `WITH u AS MATERIALIZED (SELECT u.*, ${PLACE_OF_ATTEMPT} FROM ${rows})
      UPDATE attempts a SET ended_at = coalesce(a.ended_at, u.ended_at), outcome = coalesce(u.outcome, a.outcome),
        result_hash = coalesce(u.result_hash, a.result_hash), result = coalesce(nullif(u.result, 'null'), a.result),
        late_result = coalesce(a.late_result, nullif(u.late_result, 'null')), error = coalesce(nullif(u.error, 'null'), a.error),
        usage = coalesce(nullif(u.usage, 'null'), a.usage), change = coalesce(nullif(u.change, 'null'), a.change),
        verdict = coalesce(a.verdict, nullif(u.verdict, 'null'))
      FROM u WHERE a.ctid = u.place`,
);

function attemptColumns(attempts: readonly AttemptWrite[]): string[] {
  return [
    plain(attempts, (a) => a.taskId),
    plain(attempts, (a) => a.number),
    plain(attempts, (a) => timestamp(a.endedAt ?? null)),
    plain(attempts, (a) => a.outcome ?? null),
    plain(attempts, (a) => a.resultHash ?? null),
    jsons(attempts, (a) => a.result),
    jsons(attempts, (a) => a.lateResult),
    jsons(attempts, (a) => a.error),
    jsons(attempts, (a) => a.usage),
    jsons(attempts, (a) => a.change),
    jsons(attempts, (a) => a.verdict),
  ];
}
