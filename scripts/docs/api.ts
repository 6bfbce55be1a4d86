import type { describeApi } from '../../src/app.js';
import { code, table } from './marks.js';

type Description = Awaited<ReturnType<typeof describeApi>>;

const FORM = /For: (.+)\.$/;

/** Every call: what it is for, and who may make it. */
export function callTable({ paths }: Description): string {
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => [
      code(`${method.toUpperCase()} ${path}`),
      textIn(operation, 'summary'),
      FORM.exec(textIn(operation, 'description'))?.[1] ?? 'any',
    ]),
  );
  return table(['call', 'what for', 'roles'], rows);
}

function textIn(operation: object, name: string): string {
  const value: unknown = Object.entries(operation).find(([key]) => key === name)?.[1];
  return typeof value === 'string' ? value : '';
}
