import type { TaskEdit, UnblockChanges } from '../../../../src/modules/tasks/types.js';
import { CAST, EVERYBODY, EXECUTORS, type Person, REVIEWERS } from '../cast.js';
import type { What } from '../moves.js';
import { last, limitsOf, type Task } from '../oracle/board.js';
import { on, type Step, send } from '../step.js';
import { at, LIMITS, type Scene } from './scene.js';

/** What a move does on a task that fits. */
export function onTask(scene: Scene, what: What, task: Task): Step {
  const { n, which } = scene.move;
  const { planner } = scene;
  const token = task.lease?.token ?? last(task)?.token ?? 1;
  const usual = on(0, token);
  const taskId = task.id;
  const usage = scene.usage();
  switch (what) {
    case 'submit':
      return scene.by(holderOf(task), { ...usual.submit, taskId, usage });
    case 'fail': {
      const kind = at(
        ['error', 'error', 'error', 'rate_limited', 'infrastructure', 'fatal', 'error'] as const,
        n,
      );
      const error = { class: kind, message: `no answer ${which > 5 ? 'b' : 'a'}`, detail: null };
      const retryAfterSeconds = at([null, null, null, 300, 900], n);
      return scene.by(holderOf(task), { ...usual.fail, taskId, usage, error, retryAfterSeconds });
    }
    case 'release':
      return scene.by(holderOf(task), { ...usual.release, taskId });
    case 'heartbeat':
      return scene.by(holderOf(task), { ...usual.heartbeat, taskId, usage });
    case 'report_usage': {
      const attempt = 1 + (which % task.tries.length);
      const agent = EVERYBODY.find(({ id }) => id === task.tries[attempt - 1]?.agent) ?? CAST.one;
      const spent = usage ?? usual.report_usage.usage;
      return n % 3 === 1
        ? scene.by(holderOf(task), { ...usual.report_usage, taskId, usage: spent, leaseToken: token })
        : scene.by(agent, { ...usual.report_usage, taskId, usage: spent, attempt });
    }
    case 'review':
      return scene.by(judgeOf(scene, task), {
        ...usual.claim,
        taskId,
        purpose: 'review',
        leaseSeconds: at([300, 800], n),
      });
    case 'review_fails':
      return scene.by(judgeOf(scene, task), { ...usual.rework, taskId, class: 'infrastructure' });
    case 'rework':
      return scene.by(judgeOf(scene, task), {
        ...usual.rework,
        taskId,
        attempt: n % 2 === 0 ? task.tries.length : null,
      });
    case 'approve':
      return scene.by(judgeOf(scene, task), {
        ...usual.approve,
        taskId,
        leaseToken: n % 4 === 0 ? token : null,
      });
    case 'block': {
      const kind = at(['needs_input', 'other', 'capability'] as const, n);
      return scene.by(n % 3 === 0 && task.lease !== null ? holderOf(task) : planner, {
        ...usual.block,
        taskId,
        kind,
      });
    }
    case 'cancel':
      return scene.by(planner, { ...usual.cancel, taskId });
    case 'update':
      return scene.by(planner, { ...usual.update, taskId, edit: editOf(scene, planner) });
    case 'unblock': {
      const to = n % 4 === 1 && last(task)?.hasResult && !last(task)?.judged ? 'in_review' : 'pending';
      const resetTokens = task.block === 'token' && n % 2 === 0;
      return scene.by(planner, {
        ...usual.unblock,
        taskId,
        changes: changesOf(scene, task),
        to,
        resetTokens,
      });
    }
    case 'split': {
      const parts = [scene.newTask(0, null), scene.newTask(1, null)].slice(0, 1 + (n % 2));
      const tasks = parts.map((part) => ({ ...part, dedupeKey: null, runId: null }));
      return scene.by(planner, { ...usual.split, taskId, tasks, resetTokens: n % 2 === 0 });
    }
    case 'escalate':
      return scene.by(planner, { ...usual.escalate, taskId });
    case 'supersede':
      return scene.by(planner, {
        type: 'create',
        tasks: [scene.newTask(0, task.id)],
        run: null,
        plan: false,
      });
    case 'expire_late':
      return send('server', { ...usual.expire, taskId, leaseToken: Math.max(1, task.token - (n % 2)) });
    default:
      return scene.create();
  }
}

function holderOf(task: Task): Person {
  const hand = task.lease?.agent ?? last(task)?.agent;
  return EVERYBODY.find(({ id }) => id === hand) ?? CAST.one;
}

function judgeOf(scene: Scene, task: Task): Person {
  const { who } = scene.move;
  const free = [...REVIEWERS, CAST.human].filter(({ id }) => !task.workers.includes(id));
  return task.lease !== null && who > 1 ? holderOf(task) : at(free, who);
}

function editOf(scene: Scene, by: Person): TaskEdit {
  const { n, which } = scene.move;
  const other = at(scene.model.board.tasks, which).id;
  const edits: readonly TaskEdit[] = [
    { description: `said ${n}` },
    { priority: n % 10 },
    { dependsOn: [other] },
    { dependsOn: [] },
    { notBefore: scene.later(n % 3) },
    { notBefore: null },
  ];
  return by === CAST.human && n % 2 === 0 ? { limits: at(LIMITS, n) } : at(edits, n);
}

function changesOf(scene: Scene, task: Task): UnblockChanges {
  const { board } = scene.model;
  const { n, which } = scene.move;
  const limits = limitsOf(board, task);
  const changes: readonly UnblockChanges[] = [
    {},
    { description: `said ${n}` },
    { limits: { maxTokens: limits.maxTokens + 300, maxCostMicros: 3_000 + n * 100 } },
    { limits: { maxReworks: 1 + (n % 5) } },
    { excludedAgentId: at(EXECUTORS, which).id },
    { assignedAgentId: at(EXECUTORS, which).id },
    { dependsOn: n % 2 === 0 ? [] : [at(board.tasks, which).id] },
  ];
  if (task.block === 'token' || task.block === 'cost') return changes[2] ?? {};
  return at(changes, n);
}
