import { randomUUID } from 'node:crypto';
import type { Role } from '../../../src/kernel/actor.js';
import type { Connection } from './connection.js';
import type { Agent } from './task.js';
import { type HttpAnswer, numberIn, textIn, WIRE_LIMITS } from './wire.js';

/** An agent with its key. Several clients may act for one agent at the same time. */
export interface Member extends Agent {
  readonly name: string;
  readonly apiKey: string;
}

/** The agents of one project, and the clients that act for them: several for one, so that an agent races with itself. */
const AGENTS: readonly {
  readonly name: string;
  readonly roles: readonly Role[];
  readonly clients: number;
}[] = [
  { name: 'Ann', roles: ['executor'], clients: 3 },
  { name: 'Ben', roles: ['executor'], clients: 2 },
  { name: 'Cleo', roles: ['executor', 'reviewer'], clients: 2 },
  { name: 'Rita', roles: ['reviewer'], clients: 2 },
  { name: 'Paul', roles: ['planner'], clients: 1 },
  { name: 'Olga', roles: ['operator'], clients: 1 },
];

/** One client for each entry, by the agent it acts for. */
export type Crew = readonly Member[];

/** Makes a project with its agents; answers their clients. */
export async function hire(connection: Connection, operatorKey: string): Promise<Crew> {
  const project = await post(connection, '/v1/projects', { name: `histories ${randomUUID()}` }, operatorKey);
  const apiKey = textIn(project, 'api_key');
  const crew: Member[] = [];
  for (const { name, roles, clients } of AGENTS) {
    const agent = await post(connection, '/v1/agents', { name, roles }, apiKey);
    const member = { id: textIn(agent, 'id'), name, roles, apiKey: textIn(agent, 'api_key') };
    crew.push(...Array.from({ length: clients }, () => member));
  }
  return crew;
}

/** Creates a task; answers its id. */
export async function createTask(connection: Connection, crew: Crew): Promise<string> {
  const planner = memberWith(crew, 'planner');
  const task = { title: 'Fetch the posts', limits: WIRE_LIMITS };
  return textIn(await post(connection, '/v1/tasks', task, planner.apiKey), 'id');
}

/** A member with a role. */
export function memberWith(crew: Crew, role: Role): Member {
  const member = crew.find(({ roles }) => roles.includes(role));
  if (member === undefined) throw new Error(`nobody of the crew is ${role}`);
  return member;
}

/** An event of a task as the log has it. */
export interface LogEntry {
  readonly number: number;
  readonly type: string;
  readonly requestId: string;
}

/** All events of a task, in the order of the log. */
export async function readLog(connection: Connection, crew: Crew, taskId: string): Promise<LogEntry[]> {
  const { apiKey } = memberWith(crew, 'planner');
  const entries: LogEntry[] = [];
  for (let cursor = ''; ; ) {
    const path = `/v1/events?task_id=${taskId}&limit=200${cursor}`;
    const headers = { authorization: `Bearer ${apiKey}` };
    const page = succeeded(await connection.send({ method: 'GET', path, headers }), path);
    const data: unknown = page.data;
    if (!Array.isArray(data)) throw new Error(`${path} answered no list`);
    for (const event of data)
      entries.push({
        number: numberIn(event, 'number'),
        type: textIn(event, 'type'),
        requestId: textIn(event, 'request_id'),
      });
    if (page.has_more !== true) return entries;
    cursor = `&cursor=${textIn(page, 'next_cursor')}`;
  }
}

async function post(connection: Connection, path: string, body: object, apiKey: string): Promise<object> {
  const headers = { authorization: `Bearer ${apiKey}` };
  return succeeded(await connection.send({ method: 'POST', path, headers, body }), path);
}

function succeeded(answer: HttpAnswer | null, path: string): HttpAnswer['body'] {
  if (answer === null || answer.status >= 300)
    throw new Error(`${path} was answered ${answer?.status}: ${JSON.stringify(answer?.body)}`);
  return answer.body;
}
