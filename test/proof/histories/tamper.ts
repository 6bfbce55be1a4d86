import type pg from 'pg';

/** A statement on its way to the database. */
export interface OnTheWay {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** What is done to statements between a service and its database. */
export interface Tampering {
  /** What becomes of a statement before it is sent, at once or in a moment. */
  readonly rewrite?: (statement: OnTheWay) => OnTheWay | Promise<OnTheWay>;
  /** What is done after each commit, before the command is answered. */
  readonly afterCommit?: (pool: pg.Pool) => Promise<unknown>;
}

type Send = (...given: unknown[]) => unknown;

/** The pool, with whatever is sent over it tampered with. */
export function tampered(pool: pg.Pool, { rewrite = (same) => same, afterCommit }: Tampering): pg.Pool {
  const query = async (send: Send, [first, ...others]: unknown[]): Promise<unknown> => {
    if (!isStatement(first)) return send(first, ...others);
    const rewritten = rewrite(first);
    // Statements of one transaction are given at once, and go in that order: none may wait that need not.
    const result = await send(rewritten instanceof Promise ? await rewritten : rewritten, ...others);
    if (afterCommit !== undefined && commits(first)) await afterCommit(pool);
    return result;
  };
  const around = <T extends object>(inner: T): T =>
    new Proxy(inner, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (!(value instanceof Function)) return value;
        const send: Send = (...given) => Reflect.apply(value, target, given);
        if (name === 'query') return (...given: unknown[]) => query(send, given);
        if (name !== 'connect') return send;
        return async (...given: unknown[]) => {
          const client = await send(...given);
          return typeof client === 'object' && client !== null ? around(client) : client;
        };
      },
    });
  return around(pool);
}

function isStatement(value: unknown): value is OnTheWay {
  return (
    typeof value === 'object' && value !== null && 'name' in value && 'text' in value && 'values' in value
  );
}

/** A whole batch in one statement, or the end of one that is sent in several. */
function commits({ name, text }: OnTheWay): boolean {
  return name === 'commit' || (name.startsWith('combined_') && text.includes('advance_project('));
}
