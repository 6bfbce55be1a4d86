import type { CommandOf, CommandType } from '../../src/modules/tasks/types.js';
import { someNewTask } from './builders.js';

/** One command of each type on a task, as an agent that knows its token would send it. */
export function commandsOn(taskId: string, leaseToken: number): { [T in CommandType]: CommandOf<T> } {
  const usage = null;
  const claim = { purpose: null, leaseSeconds: 300, sessionId: null };
  return {
    create: { type: 'create', tasks: [someNewTask()], run: null, plan: false },
    update: { type: 'update', taskId, edit: { description: 'said better' } },
    claim_next: {
      ...claim,
      type: 'claim_next',
      purpose: 'work',
      labels: [],
      runId: null,
      max: 1,
    },
    claim: { ...claim, type: 'claim', taskId },
    heartbeat: { type: 'heartbeat', taskId, leaseToken, usage },
    report_usage: {
      type: 'report_usage',
      taskId,
      leaseToken: null,
      attempt: null,
      usage: {
        tokens: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 },
        costMicros: 1,
        iterations: 0,
        contextTokens: null,
      },
    },
    submit: {
      type: 'submit',
      taskId,
      leaseToken,
      result: 'posts.json',
      resultHash: 'x',
      usage,
      change: null,
    },
    fail: {
      type: 'fail',
      taskId,
      leaseToken,
      error: { class: 'error', message: 'no answer', detail: null },
      retryAfterSeconds: null,
      usage,
    },
    release: { type: 'release', taskId, leaseToken, reason: null },
    expire: { type: 'expire', taskId, leaseToken },
    wake: { type: 'wake', taskId },
    approve: { type: 'approve', taskId, attempt: null, leaseToken: null, note: null },
    rework: {
      type: 'rework',
      taskId,
      attempt: null,
      leaseToken: null,
      reason: 'not yet',
      class: 'defect',
      findings: [],
    },
    block: { type: 'block', taskId, kind: 'other', reason: 'wait' },
    unblock: {
      type: 'unblock',
      taskId,
      reason: 'go on',
      assessment: null,
      changes: {},
      resetTokens: false,
      to: 'pending',
    },
    split: {
      type: 'split',
      taskId,
      reason: 'too much at once',
      assessment: null,
      changes: {},
      resetTokens: false,
      tasks: [someNewTask()],
    },
    escalate: { type: 'escalate', taskId, reason: 'a person must look' },
    cancel: { type: 'cancel', taskId, reason: 'not wanted' },
  };
}
