import { type Queryable, rowsOf } from './db/statement.js';
import type { Role } from './kernel/actor.js';
import { serverActor } from './kernel/actor.js';
import type { NewEvent } from './kernel/event.js';
import { type NewId, toWire } from './kernel/ids.js';
import type { RequestContext } from './kernel/request.js';
import { foundAgents } from './modules/agents/index.js';
import { appendEvents } from './modules/events/index.js';
import { factBy, insertProject } from './modules/projects/index.js';
import type { Project } from './modules/projects/types.js';
import { newRun, writeRuns } from './modules/runs/index.js';
import { DEFAULT_RUN_NAME } from './modules/runs/types.js';

/** What a project begins with. */
export interface ProjectStart {
  readonly name: string;
  readonly isDefault: boolean;
  readonly agents: readonly { readonly name: string; readonly roles: readonly Role[] }[];
  readonly now: number;
  readonly request: RequestContext;
}

/** Makes a project with agents, a key for each, and its default run. Answers the keys by the agents' names. */
export async function provision(
  tx: Queryable,
  newId: NewId,
  start: ProjectStart,
): Promise<{ readonly project: Project; readonly keys: ReadonlyMap<string, string> }> {
  const { name, isDefault, now, request } = start;
  const project: Project = {
    id: newId(),
    name,
    isDefault,
    limits: {},
    policies: {},
    version: 1,
    createdAt: now,
  };
  const by = serverActor(project.id);
  const agents = foundAgents(by, start.agents, { newId, now }, 'create_project');
  const run = newRun(
    {
      id: newId(),
      name: DEFAULT_RUN_NAME,
      limits: {},
      iterationMode: 'since_progress',
      deadlineAt: null,
      isDefault: true,
    },
    project.id,
    now,
  );
  const events: NewEvent[] = [
    factBy(by, 'project.created', 'create_project', { project_id: toWire('project', project.id), name }),
    ...agents.flatMap((agent) => agent.events),
    {
      ...factBy(by, 'run.created', 'create_project', { name: run.name, limits: {} }),
      runId: run.id,
      to: run.state,
    },
  ];
  const committed = events.map((event, index) => ({
    event,
    id: newId(),
    position: index + 1,
    at: now,
    request,
  }));
  const statements = [
    insertProject(project, events.length),
    ...agents.flatMap((agent) => agent.statements),
    writeRuns(project.id, [run]),
    appendEvents(project.id, committed),
  ];
  for (const statement of statements) await rowsOf(tx, statement);
  return { project, keys: new Map(agents.map(({ agent, apiKey }) => [agent.name, apiKey])) };
}
