import { PROBLEMS } from '../../src/http/problem.js';
import { EXPLANATIONS } from '../../src/http/problem-texts.js';
import { REFUSAL_CODES } from '../../src/kernel/refusal.js';
import { code, table } from './marks.js';

/** Every problem by its status: what it means and what to do next. */
export function problemTable(): string {
  const ordered = [...REFUSAL_CODES].sort((a, b) => PROBLEMS[a].status - PROBLEMS[b].status);
  return table(
    ['status', 'code', 'retry', 'what it means, and what to do'],
    ordered.map((name) => {
      const { status, retryable } = PROBLEMS[name];
      return [String(status), code(name), retryable ? 'can help' : 'is useless', EXPLANATIONS[name]];
    }),
  );
}
