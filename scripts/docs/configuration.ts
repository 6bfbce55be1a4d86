import { describeEnvironment } from '../../src/config.js';
import { code, table } from './marks.js';

interface Group {
  readonly title: string;
  readonly variables: Readonly<Record<string, string>>;
}

/** What each variable is for. What it allows and what it is by default, the code says itself. */
const GROUPS: readonly Group[] = [
  {
    title: 'Where it runs',
    variables: {
      PORT: 'The port to listen on.',
      HOST: 'The address to listen on. `0.0.0.0` lets other machines in.',
      DATABASE_URL: 'A PostgreSQL of your own. Without it the service brings one along, in the data folder.',
      FUSEBOARD_DATA_DIR: 'The folder for `keys.env` and for the database that is brought along.',
      LOG_LEVEL: 'How much is logged, as JSON lines on standard output.',
    },
  },
  {
    title: 'How it runs',
    variables: {
      FUSEBOARD_POOL_SIZE: 'Connections to the database that one process holds at most.',
      FUSEBOARD_BATCH_MAX: 'The most commands that are written in one transaction.',
      FUSEBOARD_STATEMENT_TIMEOUT_MS: 'Milliseconds after which the database gives up on a statement.',
      FUSEBOARD_RATE_LIMIT_PER_MINUTE: 'Requests that one key may send in a minute.',
      FUSEBOARD_CREATE_LIMIT_PER_MINUTE: 'Tasks that one key may create in a minute.',
      FUSEBOARD_TRUST_PROXY: 'Proxies whose `X-Forwarded-*` headers are believed.',
      FUSEBOARD_SHUTDOWN_SECONDS: 'How long a stopping process waits for what is under way.',
    },
  },
  {
    title: 'Limits',
    variables: {
      FUSEBOARD_MAX_REWORKS: 'Times a task is sent back before it blocks.',
      FUSEBOARD_MAX_ERRORS: 'Counted errors of a task before it blocks.',
      FUSEBOARD_MAX_TOKENS:
        'Tokens a task may use. The default stops most coding agents at their first report: raise it.',
      FUSEBOARD_MAX_COST_USD: 'US dollars a task may cost.',
      FUSEBOARD_MAX_REVIEW_FAILURES: 'Failed reviews of a task before it blocks.',
      FUSEBOARD_MAX_ATTEMPTS: 'Attempts of a task between unblocks.',
      FUSEBOARD_MAX_UNBLOCKS: 'Unblocks of a task, or recoveries of a run, by agents.',
      FUSEBOARD_REASSIGN_AFTER: 'Rejections of one executor on a task before it is first offered to another.',
      FUSEBOARD_MAX_ATTEMPT_SECONDS: 'Seconds that one attempt or review may last.',
      FUSEBOARD_MAX_ITERATIONS: 'Starts of work in a run before it trips.',
      FUSEBOARD_MAX_RUN_TOKENS: 'Tokens that a run may use.',
      FUSEBOARD_MAX_RUN_COST_USD: 'US dollars that a run may cost.',
    },
  },
  {
    title: 'Breakers and recovery',
    variables: {
      FUSEBOARD_FLEET_THRESHOLD:
        'Tasks that fail alike, by at least two agents, before no work is handed out.',
      FUSEBOARD_FLEET_WINDOW_SECONDS: 'The time within which they do.',
      FUSEBOARD_COOLDOWN_SECONDS:
        'How long an open breaker waits before it tries again, and a task after a fault of infrastructure.',
      FUSEBOARD_ERROR_RECOVERY:
        'Whether a task that was blocked by its errors is tried again by itself, or waits for a planner.',
      FUSEBOARD_MAX_AUTO_RECOVERIES: 'Times that a task is tried again by itself after its errors.',
    },
  },
];

/** Every variable of the environment, in groups. One without a text, or a text without its variable, is an error. */
export function configurationTables(): string {
  const known = new Map(describeEnvironment().map((variable) => [variable.name, variable]));
  const told = GROUPS.flatMap(({ variables }) => Object.keys(variables));
  const untold = [...known.keys()].filter((name) => !told.includes(name));
  if (untold.length > 0) throw new Error(`the documentation says nothing about ${untold.join(', ')}`);
  return GROUPS.map(({ title, variables }) => {
    const rows = Object.entries(variables).map(([name, what]) => {
      const variable = known.get(name);
      if (variable === undefined) throw new Error(`the documentation tells of ${name}, which nothing reads`);
      const { allowed, fallback, secret } = variable;
      return [
        code(name),
        secret === true ? `${what} Never shown in messages or logs.` : what,
        fallback === null ? 'not set' : code(fallback),
        allowed,
      ];
    });
    return `### ${title}\n\n${table(['variable', 'what it does', 'default', 'allowed'], rows)}`;
  }).join('\n\n');
}
