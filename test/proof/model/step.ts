import type { AnyCommand } from '../../../src/modules/tasks/types.js';
import { commandsOn } from '../../support/commands.js';
import { CAST, type Name, named, type Person, taskId } from './cast.js';

/** One step of a history, the same for the model and the service. */
export type Step =
  | { readonly does: 'send'; readonly by: Name; readonly command: AnyCommand }
  | { readonly does: 'pass'; readonly seconds: number }
  /** The server looks once at what is due. */
  | { readonly does: 'sweep' }
  /** The process ends, and another one goes on with the database. */
  | { readonly does: 'restart' };

/** Somebody sends a command. A breaker is named by its agent, or `fleet`; times count from when the project began. */
export const send = (by: Name, command: AnyCommand): Step => ({ does: 'send', by, command });
export const pass = (seconds: number): Step => ({ does: 'pass', seconds });
export const sweep: Step = { does: 'sweep' };
export const restart: Step = { does: 'restart' };

/** The usual commands on the n-th task, with a token where one is needed. */
export const on = (n: number, token = 1) => commandsOn(taskId(n), token);

/** The person of a name; null for the server. */
export const personOf = (name: Name): Person | null => (name === 'server' ? null : CAST[name]);

/** A step in words: who does what, with all that is not as usual. */
export function inWords(step: Step): string {
  if (step.does === 'pass') return `${step.seconds} seconds pass`;
  if (step.does !== 'send') return step.does === 'sweep' ? 'the server sweeps' : 'the process begins again';
  const { command } = step;
  const { type, ...fields } = command;
  const id = 'taskId' in command ? command.taskId : null;
  const usual = new Map<string, unknown>(
    Object.entries(id === null || !(type in USUAL) ? {} : USUAL).flatMap(([name, one]) =>
      name === type ? Object.entries(one) : [],
    ),
  );
  const told = Object.entries(fields).filter(
    ([name, value]) => name !== 'taskId' && JSON.stringify(usual.get(name)) !== JSON.stringify(value),
  );
  const rest = told.length === 0 ? '' : ` ${JSON.stringify(Object.fromEntries(told), worthTelling)}`;
  return named(`${step.by}: ${type}${id === null ? '' : ` ${id}`}${rest}`);
}

const USUAL = on(0, 0);
const PLAIN = new Set(['title', 'parentId', 'acceptance', 'labels', 'sessionId']);

/** Leaves out of a step's words what is empty, or as in every other step. */
function worthTelling(name: string, value: unknown): unknown {
  const isEmpty = value === null || value === '' || value === false || JSON.stringify(value) === '[]';
  return PLAIN.has(name) || isEmpty ? undefined : value;
}
