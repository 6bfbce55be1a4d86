import type { Role } from '../../../src/kernel/actor.js';
import { idOf } from '../../support/builders.js';

/** Somebody of the board's project. */
export interface Person {
  readonly id: string;
  readonly name: string;
  readonly roles: readonly Role[];
}

const person = (n: number, name: string, ...roles: Role[]): Person => ({ id: idOf(100 + n), name, roles });

/** Everybody of a project under test, by the same ids in each project. */
export const CAST = {
  planner: person(1, 'planner', 'planner'),
  one: person(2, 'one', 'executor'),
  two: person(3, 'two', 'executor'),
  three: person(4, 'three', 'executor'),
  judge: person(5, 'judge', 'reviewer'),
  critic: person(6, 'critic', 'reviewer'),
  both: person(7, 'both', 'executor', 'reviewer'),
  human: person(8, 'human', 'operator'),
} as const;
export type Name = keyof typeof CAST | 'server';

export const EVERYBODY: readonly Person[] = Object.values(CAST);
export const EXECUTORS: readonly Person[] = EVERYBODY.filter(({ roles }) => roles.includes('executor'));
export const REVIEWERS: readonly Person[] = EVERYBODY.filter(({ roles }) => roles.includes('reviewer'));

/** The run that is always there. */
export const DEFAULT_RUN = idOf(200);

/** The n-th task, counted from 1. */
export const taskId = (n: number): string => idOf(n);

/** The n-th run that somebody began, counted from 1. */
export const runId = (n: number): string => idOf(200 + n);

/** What an id is called in a report: a person's name, `default`, `R1`, `T3`. */
export function nameOf(id: string): string {
  const known = EVERYBODY.find((one) => one.id === id);
  if (known !== undefined) return known.name;
  const n = Number(id.slice(-12));
  if (Number.isNaN(n)) return id;
  if (n >= 200) return n === 200 ? 'default' : `R${n - 200}`;
  return `T${n}`;
}

/** A text with every id in it by its name. */
export function named(text: string): string {
  return text.replace(/00000000-0000-7000-8000-\d{12}/g, nameOf);
}
