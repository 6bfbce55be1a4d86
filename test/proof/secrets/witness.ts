import type pg from 'pg';
import type { Response, Test } from 'supertest';

/** Something that was said or kept, and where. */
interface Trace {
  readonly place: string;
  readonly text: string;
}

/**
 * Remembers all that a service says, and looks for marks in it, in its log and in every column of its tables. A place is called
 * `log`, `answer <operation>`, `problem <code>` or `<table>.<column>`.
 */
export class Witness {
  private readonly traces: Trace[] = [];
  /** The operations that were answered with success. */
  readonly done = new Set<string>();
  /** The statuses seen. */
  readonly statuses = new Set<number>();

  /** Waits for an answer and remembers it. */
  async see(operation: string, sent: Test): Promise<Response> {
    const response = await sent;
    this.hear(operation, response.status, `${JSON.stringify(response.headers)}\n${response.text}`);
    return response;
  }

  /** Remembers an answer. */
  hear(operation: string, status: number, text: string): void {
    this.statuses.add(status);
    if (status < 400) this.done.add(operation);
    const code = /"code":"(\w+)","request_id"/.exec(text)?.[1] ?? 'without a code';
    this.traces.push({ place: status < 400 ? `answer ${operation}` : `problem ${code}`, text });
  }

  /** Remembers lines of the log. */
  read(lines: readonly string[]): void {
    for (const text of lines) this.traces.push({ place: 'log', text });
  }

  /** Remembers every value of every table. */
  async search(pool: pg.Pool): Promise<void> {
    const { rows: tables } = await pool.query<{ name: string }>(
      "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> '_prisma_migrations'",
    );
    for (const { name } of tables) {
      const { rows } = await pool.query<{ column: string; value: string }>(
        `SELECT c.key AS column, c.value FROM ${name} t, jsonb_each_text(to_jsonb(t)) c WHERE c.value IS NOT NULL`,
      );
      for (const { column, value } of rows) this.traces.push({ place: `${name}.${column}`, text: value });
    }
  }

  /** The places where a mark stands, plain or in base64. */
  placesOf(mark: string): string[] {
    const forms = [mark, Buffer.from(mark).toString('base64').replace(/=+$/, '')].map((form) =>
      form.toLowerCase(),
    );
    const found = this.traces.filter(({ text }) => {
      const said = text.toLowerCase();
      return forms.some((form) => said.includes(form));
    });
    return [...new Set(found.map(({ place }) => place))].sort();
  }
}
