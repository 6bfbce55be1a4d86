import { z } from 'zod';

const task = z.object({
  id: z.string(),
  title: z.string(),
  state: z.string(),
  attempt: z.number(),
  rework_total: z.number(),
  limits: z.object({ max_reworks: z.number() }),
  block_reason: z.object({ kind: z.string(), reason: z.string() }).nullable(),
  open_trip_id: z.string().nullable(),
});

/** A task as far as the demo looks at it. */
export type BoardTask = z.output<typeof task>;

const claims = z.object({
  claims: z.array(
    z.object({
      task: z.object({ id: z.string(), title: z.string() }),
      attempt: z.number(),
      lease_token: z.number(),
    }),
  ),
});

/** One task in an agent's hands. */
export type Claimed = z.output<typeof claims>['claims'][number];

const problem = z.object({ code: z.string(), detail: z.string() });
const taskPage = z.object({ data: z.array(task) });
const plan = z.object({ run_id: z.string(), tasks: z.array(task) });
const agentPage = z.object({
  data: z.array(z.object({ id: z.string(), name: z.string(), roles: z.array(z.string()) })),
  next_cursor: z.string().nullable(),
});
const newAgent = z.object({
  id: z.string(),
  api_key: z.string(),
  keys: z.array(z.object({ id: z.string() })),
});
const newKey = z.object({ id: z.string(), api_key: z.string() });

/** The service said no where the demo cannot go on. */
export class DemoError extends Error {
  override readonly name = 'DemoError';
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** What a service refused, in its own words. */
export interface Refused {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
}

/** One agent's way to the service: its address and its key, and nothing else. */
export class Client {
  constructor(
    readonly url: string,
    private readonly key: string,
  ) {}

  /** Sends one request. Throws only when nothing answers. */
  async call(method: string, path: string, body?: object): Promise<Answer> {
    const answer = await fetch(new URL(path, this.url), {
      method,
      headers: {
        authorization: `Bearer ${this.key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
  }

  /** The next task of a run, or null when there is none for this agent. */
  async claim(purpose: 'work' | 'review', runId: string): Promise<Claimed | null> {
    const answer = await this.call('POST', '/v1/tasks/claim', { for: purpose, run_id: runId });
    return answer.status === 200 ? (claims.parse(answer.body).claims[0] ?? null) : null;
  }

  /** Tries to take one task by its id, and answers what the service said to that. */
  async insist(taskId: string): Promise<Refused | null> {
    const answer = await this.call('POST', `/v1/tasks/${taskId}/claim`, {});
    return answer.status === 200 ? null : refusedIn(answer);
  }

  /** The tasks of a run, first to last. */
  async tasks(runId: string): Promise<BoardTask[]> {
    const answer = await this.need('GET', `/v1/tasks?run_id=${runId}&limit=200`);
    return taskPage.parse(answer).data.reverse();
  }

  /** Makes a run and its tasks, all at once. */
  async plan(body: object): Promise<z.output<typeof plan>> {
    return plan.parse(await this.need('POST', '/v1/plans', body));
  }

  /** A key for the agent of that name, which is made if it is not there. Answers how to revoke it, too. */
  async keyFor(name: string, role: string): Promise<{ key: string; revokePath: string }> {
    const known = await this.agent(name);
    if (known === null) {
      const made = newAgent.parse(await this.need('POST', '/v1/agents', { name, roles: [role] }));
      return { key: made.api_key, revokePath: `/v1/agents/${made.id}/keys/${made.keys[0]?.id ?? ''}` };
    }
    if (!known.roles.includes(role))
      throw new DemoError(`The board has an agent ${name} that is no ${role}; the demo cannot use its name.`);
    const made = newKey.parse(await this.need('POST', `/v1/agents/${known.id}/keys`, {}));
    return { key: made.api_key, revokePath: `/v1/agents/${known.id}/keys/${made.id}` };
  }

  private async agent(name: string): Promise<z.output<typeof agentPage>['data'][number] | null> {
    for (let cursor = ''; ; ) {
      const page = agentPage.parse(await this.need('GET', `/v1/agents?limit=200${cursor}`));
      const found = page.data.find((agent) => agent.name === name);
      if (found !== undefined) return found;
      if (page.next_cursor === null) return null;
      cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
    }
  }

  private async need(method: string, path: string, body?: object): Promise<unknown> {
    const answer = await this.call(method, path, body);
    if (answer.status >= 300) {
      const { code, detail } = refusedIn(answer);
      throw new DemoError(`${method} ${path} was refused with ${answer.status} ${code}: ${detail}`);
    }
    return answer.body;
  }
}

function refusedIn({ status, body }: Answer): Refused {
  const said = problem.safeParse(body);
  return said.success ? { status, ...said.data } : { status, code: 'unknown', detail: 'no reason given' };
}

/** Whether a service answers at this address and knows this key. */
export async function isService(url: string, key: string): Promise<boolean> {
  try {
    const answer = await new Client(url, key).call('GET', '/v1/me');
    return answer.status === 200;
  } catch {
    return false;
  }
}
