import { toWire } from '../../kernel/ids.js';
import type { Json, JsonObject } from '../../kernel/json.js';
import type { Verdict as GuardVerdict, TaskLimits } from '../guard/types.js';
import { inUnits, verdictToWire } from '../guard/wire.js';
import type { Attempt, Task, Verdict } from './types.js';
import { attemptToWire, taskToWire } from './wire.js';

/** What an agent should read before it works on a task, or judges it. */
export interface Brief {
  readonly task: Task;
  readonly limits: TaskLimits;
  readonly attempts: readonly Attempt[];
  readonly guard: GuardVerdict;
}

/** What is left of each limit before it trips. */
function budgets(guard: GuardVerdict): JsonObject[] {
  return guard.layers.map((layer) => ({
    kind: layer.kind,
    left: inUnits(layer.kind, Math.max(0, layer.limit - layer.value)),
    limit: inUnits(layer.kind, layer.limit),
  }));
}

/** The brief as JSON. */
export function briefToWire({ task, limits, attempts, guard }: Brief): JsonObject {
  return {
    task: taskToWire(task, limits),
    attempts: attempts.map(attemptToWire),
    budgets: budgets(guard),
    guard: verdictToWire(guard),
  };
}

/** The brief as Markdown, for an agent's prompt. */
export function briefToMarkdown({ task, attempts, guard }: Brief): string {
  const lines = [
    `# ${oneLine(task.title)}`,
    '',
    `Task ${toWire('task', task.id)}, ${task.state}, attempt ${task.attempt}.`,
    '',
  ];
  if (task.block !== null) lines.push(`**Blocked** (${task.block.kind}): ${oneLine(task.block.reason)}`, '');
  if (task.description !== '') lines.push(task.description, '');
  lines.push(
    '## Acceptance',
    '',
    ...listed(
      task.acceptance.map((criterion, index) => `${index}. ${oneLine(criterion)}`),
      'No criteria are given.',
    ),
    '',
  );
  lines.push('## What was tried', '', ...listed(attempts.flatMap(attemptLines), 'Nothing yet.'), '');
  lines.push(
    '## What is left',
    '',
    ...guard.layers.map(
      (layer) =>
        `- ${layer.kind}: ${inUnits(layer.kind, layer.value)} of ${inUnits(layer.kind, layer.limit)} used`,
    ),
    '',
  );
  return lines.join('\n');
}

function listed(lines: readonly string[], none: string): readonly string[] {
  return lines.length === 0 ? [none] : lines;
}

function attemptLines(attempt: Attempt): string[] {
  const lines = [`### Attempt ${attempt.number}: ${attempt.outcome}`, ''];
  if (attempt.result !== null) lines.push('Result:', '', fenced(attempt.result), '');
  if (attempt.lateResult !== null)
    lines.push('Handed in too late, kept as evidence:', '', fenced(attempt.lateResult), '');
  if (attempt.error !== null)
    lines.push(`Error (${attempt.error.class}): ${oneLine(attempt.error.message)}`, '');
  if (attempt.verdict !== null) lines.push(...verdictLines(attempt.verdict), '');
  return lines;
}

function verdictLines(verdict: Verdict): string[] {
  const word = verdict.approved ? 'Approved' : 'Sent back';
  const head = verdict.reason === null ? `${word}.` : `${word}: ${oneLine(verdict.reason)}`;
  return [
    head,
    ...verdict.findings.map(
      ({ criterion, detail }) =>
        `- ${criterion === null ? '' : `criterion ${criterion}: `}${oneLine(detail)}`,
    ),
  ];
}

/** A fence longer than any in the text, so that a result cannot end it and pose as the brief. */
function fenced(value: Json): string {
  const body = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  const longest = Math.max(2, ...[...body.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${body}\n${fence}`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
