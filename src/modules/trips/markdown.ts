import { toWire } from '../../kernel/ids.js';
import type { Trip } from '../guard/types.js';
import { inUnits } from '../guard/wire.js';
import { callsOf, type Report, type ToCall } from './report.js';

/** The report as a document, for an operator's eyes or an agent's prompt. */
export function reportToMarkdown(report: Report, toCall: ToCall): string {
  const { trip } = report;
  return [
    '---',
    `generated_at: ${time(report.generatedAt)}`,
    `breaker_type: ${trip.kind.toUpperCase()}`,
    `severity: ${trip.severity}`,
    `action_required: ${trip.actionRequired}`,
    '---',
    '',
    `# Trip ${toWire('trip', trip.id)}`,
    '',
    ...overview(report),
    '## Layers',
    '',
    '| layer | value | limit | over | state |',
    '|---|---|---|---|---|',
    ...report.layers.map(
      ({ kind, value, limit, overPercent, state }) =>
        `| ${kind} | ${inUnits(kind, value)} | ${inUnits(kind, limit)} | ${overPercent}% | ${state} |`,
    ),
    '',
    '## Errors',
    '',
    ...listed([
      ...report.errors.map(({ name, count }) => `- ${name}: ${count}`),
      ...report.fingerprints.map(({ name, count }) => `- ${count} × ${inline(name)}`),
    ]),
    '',
    '## Diagnosis',
    '',
    ...report.diagnoses.map(({ code, explanation }) => `- **${code}**: ${inline(explanation)}`),
    '',
    '## Recommendation',
    '',
    recommended(report),
    '',
    '## Next actions',
    '',
    ...callsOf(report, toCall).flatMap(callLines),
    '## Timeline',
    '',
    ...timelineLines(report),
    '',
  ].join('\n');
}

function overview({ trip, about }: Report): string[] {
  const { value, limit } = { value: inUnits(trip.kind, trip.value), limit: inUnits(trip.kind, trip.limit) };
  const target = targetOf(trip);
  const lines = [
    about === null ? `Of ${target}.` : `Of ${target}: ${inline(about)}.`,
    '',
    `- ${trip.kind}: ${value} of ${limit}, over by ${trip.overPercent}%`,
    `- opened ${time(trip.openedAt)}, ${trip.state}`,
  ];
  if (trip.resolution !== null && trip.closedAt !== null) {
    const { strategy, reason, by } = trip.resolution;
    lines.push(`- closed ${time(trip.closedAt)} by ${strategy} (${by.role}): ${inline(reason)}`);
  }
  return [...lines, ''];
}

function targetOf(trip: Trip): string {
  if (trip.scope === 'task' && trip.taskId !== null) return `task ${toWire('task', trip.taskId)}`;
  if (trip.scope === 'run' && trip.runId !== null) return `run ${toWire('run', trip.runId)}`;
  return `the ${trip.kind} breaker`;
}

function recommended({ recommendation }: Report): string {
  if (recommendation === null) return 'Its probe closes it; an operator may close it by hand.';
  const { strategy, why, successRate, sample } = recommendation;
  const rate =
    successRate === null
      ? 'too few ends are known for a rate'
      : `${Math.round(successRate * 100)}% of ${sample} ended well`;
  return `**${strategy}** (${rate}): ${why}.`;
}

function callLines({ why, method, path, role, body }: ReturnType<typeof callsOf>[number]): string[] {
  const by = typeof role === 'string' ? ` (${role})` : '';
  const lines = [`- ${inline(String(why))}${by}: \`${String(method)} ${String(path)}\``, ''];
  return body == null ? lines : [...lines, ...fenced(JSON.stringify(body, null, 2)), ''];
}

/** Indented, so that no fence in a text can end it. */
function fenced(text: string): string[] {
  return text.split('\n').map((line) => `      ${line}`);
}

function timelineLines({ timeline, names }: Report): readonly string[] {
  const lines = timeline.moments.map(({ at, agentId, role, taskId, text }) => {
    const who = agentId === null ? role : `${names.get(agentId) ?? toWire('agent', agentId)} (${role})`;
    const where = taskId === null ? '' : ` [${toWire('task', taskId)}]`;
    return `- ${time(at)}${where} ${inline(who)}: ${inline(text)}`;
  });
  const cut = timeline.omitted === 0 ? [] : [`- … ${timeline.omitted} earlier events are left out`];
  return listed([...cut, ...lines]);
}

function listed(lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? ['None.'] : lines;
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}

/** A text of somebody's as one line that cannot pose as a part of the document. */
function inline(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/([\\`*_[\]<>|#])/g, '\\$1');
}
