import { COMMAND_TYPES, TRANSITIONS } from '../../src/modules/tasks/transitions.js';
import {
  type CommandType,
  TASK_STATES,
  type TaskState,
  TERMINAL_STATES,
} from '../../src/modules/tasks/types.js';
import { code, table } from './marks.js';

/** One way from a state to another. */
export interface Edge {
  readonly from: TaskState | null;
  readonly to: TaskState;
  readonly command: CommandType;
}

const OPEN = TASK_STATES.filter(isOpen);

function isOpen(state: TaskState): boolean {
  return !TERMINAL_STATES.some((terminal) => terminal === state);
}

/**
 * Every way through the machine that changes the state. A lease on a review leaves its task in review, so a command that
 * also moves tasks out of other states does not move one out of that; one that leads to a state leaves what is there
 * alone; and what is final stays so.
 */
export function edges(): Edge[] {
  return COMMAND_TYPES.flatMap((command): Edge[] => {
    const { from, to } = TRANSITIONS[command];
    const moves = to.filter((target): target is TaskState => target !== 'same');
    if (from.length === 0) return moves.map((target) => ({ from: null, to: target, command }));
    return from.filter(isOpen).flatMap((state) => {
      const isReviewLease = state === 'in_review' && from.length > 1;
      const stays = to.includes('same') && (isReviewLease || moves.includes(state));
      return moves
        .filter((target) => target !== state && (!stays || target === 'blocked'))
        .map((target) => ({ from: state, to: target, command }));
    });
  });
}

/** The machine as a Mermaid diagram. */
export function machineDiagram(): string {
  const labels = new Map<string, Set<string>>();
  const add = (from: string, to: string, label: string) => {
    const key = `${from} --> ${to}`;
    labels.set(key, (labels.get(key) ?? new Set()).add(label));
  };
  // What is drawn first is placed first: the way to the end, then the ways out of it.
  const usual = edges().filter(({ from, to }) => from !== 'blocked' && to !== 'blocked');
  for (const { from, to, command } of [...usual, ...edges()]) {
    if (command === 'cancel') add('open', to, command);
    else add(from ?? '[*]', to, labelOf(command, to));
  }
  const lines = [...labels].map(([way, of]) => `${way}: ${[...of].join(', ')}`);
  const isInside = (line: string) =>
    !line.startsWith('open') && !line.startsWith('[*]') && !/--> (done)/.test(line);
  return [
    '```mermaid',
    'stateDiagram-v2',
    '    state open {',
    ...lines.filter(isInside).map((line) => `        ${line}`),
    '    }',
    ...lines.filter((line) => !isInside(line)).map((line) => `    ${line}`),
    ...TERMINAL_STATES.map((state) => `    ${state} --> [*]`),
    '```',
  ].join('\n');
}

/** Whatever ends up in `blocked` without being told to was stopped by a limit, or by a dependency that was cancelled. */
function labelOf(command: CommandType, to: TaskState): string {
  if (to === 'blocked' && command !== 'block') return command === 'create' ? 'create' : 'a limit';
  return command === 'claim_next' ? 'claim' : command;
}

/** Every command: who may send it, where, and where it leads. */
export function machineTable(): string {
  return table(
    ['command', 'sent by', 'in', 'leads to', 'starts work', 'needs a lease token'],
    COMMAND_TYPES.map((command) => {
      const { from, to, by, starts, fenced } = TRANSITIONS[command];
      return [
        code(command),
        by.join(', '),
        statesOf(from),
        to.map((target) => (target === 'same' ? 'the same' : code(target))).join(', '),
        starts ? 'yes' : '',
        fenced ? 'yes' : '',
      ];
    }),
  );
}

function statesOf(states: readonly TaskState[]): string {
  if (states.length === 0) return 'no task yet';
  if (states.length === TASK_STATES.length) return 'any state';
  if (states.length === OPEN.length && OPEN.every((state) => states.includes(state))) return 'any open state';
  return states.map(code).join(', ');
}
