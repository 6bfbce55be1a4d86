import { ROLES, type Role } from '../../../src/kernel/actor.js';

/**
 * Who may call what, written by hand from the contract and not from the routes: method, path, and each role that is
 * answered with success when it comes alone. `holder` behind the roles: only with a lease, which is what the others are
 * refused for. `runs the server`: only in the default project. Everything else is refused.
 */
const TABLE = `
GET    /livez                                public
GET    /readyz                               public
GET    /problems                             public
GET    /problems/:code                       public
GET    /openapi.json                         public
GET    /openapi.yaml                         public
GET    /docs/                                public
GET    /docs/json                            public
GET    /docs/yaml                            public
GET    /docs/static/index.html               public
GET    /docs/static/swagger-initializer.js   public
GET    /docs/static/theme/theme.css          public
GET    /docs/static/*                        public

GET    /v1/me                                planner executor reviewer manager operator
GET    /v1/projects/current                  planner executor reviewer manager operator
PATCH  /v1/projects/current                  operator
POST   /v1/projects/current/simulate         planner operator
POST   /v1/projects                          operator                                     runs the server
GET    /v1/projects                          operator                                     runs the server
POST   /v1/agents                            operator
GET    /v1/agents                            operator
POST   /v1/agents/:id/keys                   operator
DELETE /v1/agents/:id/keys/:key_id           operator

POST   /v1/runs                              planner operator
GET    /v1/runs                              planner executor reviewer manager operator
GET    /v1/runs/:id                          planner executor reviewer manager operator
PATCH  /v1/runs/:id                          planner operator
POST   /v1/runs/:id/recover                  planner operator
POST   /v1/runs/:id/close                    planner operator

POST   /v1/tasks                             planner operator
POST   /v1/plans                             planner operator
GET    /v1/tasks                             planner executor reviewer manager operator
GET    /v1/tasks/claimable                   planner executor reviewer manager operator
GET    /v1/tasks/:id                         planner executor reviewer manager operator
PATCH  /v1/tasks/:id                         planner operator
GET    /v1/tasks/:id/attempts                planner executor reviewer manager operator
GET    /v1/tasks/:id/events                  planner executor reviewer manager operator
GET    /v1/tasks/:id/guard                   planner executor reviewer manager operator
GET    /v1/tasks/:id/brief                   planner executor reviewer manager operator
POST   /v1/tasks/claim                       executor reviewer operator
POST   /v1/tasks/:id/claim                   executor reviewer operator
POST   /v1/tasks/:id/heartbeat               executor reviewer operator                   holder
POST   /v1/tasks/:id/usage                   executor reviewer operator                   holder
POST   /v1/tasks/:id/release                 executor reviewer operator                   holder
POST   /v1/tasks/:id/submit                  executor                                     holder
POST   /v1/tasks/:id/fail                    executor                                     holder
POST   /v1/tasks/:id/block                   planner executor reviewer operator
POST   /v1/tasks/:id/approve                 reviewer operator
POST   /v1/tasks/:id/rework                  reviewer operator
POST   /v1/tasks/:id/unblock                 planner operator
POST   /v1/tasks/:id/cancel                  planner operator

GET    /v1/trips                             planner operator
GET    /v1/trips/:id                         planner operator
POST   /v1/trips/:id/recover                 planner operator
GET    /v1/recoveries/stats                  planner operator
GET    /v1/health/invariants                 operator
GET    /v1/breakers                          operator
POST   /v1/breakers/:id/isolate              operator
POST   /v1/breakers/:id/close                operator

GET    /v1/events                            planner executor reviewer manager operator
GET    /v1/events/stream                     planner executor reviewer manager operator
`;

/** A line of the table. */
export interface Row {
  /** `POST /v1/tasks/:id/submit`. */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  /** Nobody is asked who they are. */
  readonly isPublic: boolean;
  /** The roles that succeed, in the order of the roles. */
  readonly allowed: readonly Role[];
  /** What the others lack is the lease, not a role. */
  readonly byLease: boolean;
  readonly runsTheServer: boolean;
}

const LINE = /^([A-Z]+) +(\S+) +((?:[a-z]+ ?)+?)(?: {2,}(holder|runs the server))?$/;

/** The table, line by line. */
export const ROWS: readonly Row[] = TABLE.split('\n')
  .filter((line) => line !== '')
  .map(rowOf);

function rowOf(line: string): Row {
  const [, method, path, who = '', mark] = LINE.exec(line) ?? [];
  if (method === undefined || path === undefined) throw new Error(`this is no line of the table: ${line}`);
  const words = who.trim().split(' ');
  const isPublic = who.trim() === 'public';
  const unknown = words.filter((word) => !isPublic && !ROLES.some((role) => role === word));
  if (unknown.length > 0) throw new Error(`${method} ${path} allows ${unknown.join(', ')}, which is no role`);
  return {
    name: `${method} ${path}`,
    method,
    path,
    isPublic,
    allowed: isPublic ? [] : ROLES.filter((role) => words.includes(role)),
    byLease: mark === 'holder',
    runsTheServer: mark === 'runs the server',
  };
}
