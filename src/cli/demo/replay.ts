import { setTimeout as pause } from 'node:timers/promises';
import { type NightAgent, runAgent } from './agents.js';
import { type BoardTask, Client, DemoError, type Refused } from './client.js';
import { type NightTask, nightTasks } from './night.js';
import type { Screen } from './screen.js';
import { hasSettled } from './summary.js';
import type { Moment } from './table.js';

/** A service that the demo may play on. */
export interface Board {
  readonly url: string;
  readonly operatorKey: string;
  readonly plannerKey: string;
}

/** How the night is replayed. */
export interface ReplayOptions {
  readonly tasks: number;
  readonly paceMs: number;
  /** Ends the replay before its time. */
  readonly signal?: AbortSignal;
}

/** How the night ended this time. */
export interface Replayed {
  readonly tasks: readonly BoardTask[];
  readonly night: readonly NightTask[];
  readonly afterwards: number;
  readonly refused: Refused | null;
}

const AGENTS = [
  { name: 'night-executor-1', role: 'executor' },
  { name: 'night-executor-2', role: 'executor' },
  { name: 'night-reviewer-1', role: 'reviewer' },
  { name: 'night-reviewer-2', role: 'reviewer' },
] as const;

const LOOK_MS = 60;
/** How often each agent is let ask in vain, after all is over, to show that it does not stop by itself. */
const VAIN_LOOKS = 6;
/** Nothing has moved for so long: whatever it is, it will not end. */
const STALLED_MS = 15_000;
/** More starts than any task can have, so that the run's own budget is not what ends the night. */
const STARTS_PER_TASK = 1_000;

/** Plays the night on a board: its tasks, and four agents that never stop. Ends when nothing more can happen. */
export async function replay(board: Board, options: ReplayOptions, screen: Screen): Promise<Replayed> {
  const operator = new Client(board.url, board.operatorKey);
  const planner = new Client(board.url, board.plannerKey);
  const hired = await hire(board.url, operator);
  const switchOff = new AbortController();
  const signal = AbortSignal.any([
    switchOff.signal,
    ...(options.signal === undefined ? [] : [options.signal]),
  ]);
  const night = nightTasks(options.tasks);
  let loops: Promise<void>[] = [];
  try {
    const planned = await planner.plan(planOf(night));
    const watch = new Watch(planner, planned.run_id, planned.tasks, night);
    screen.show(watch.moment());
    loops = hired.map(({ agent }) =>
      runAgent(agent, {
        runId: planned.run_id,
        tasks: night,
        paceMs: options.paceMs,
        signal,
        tell: (deed) => {
          if (deed.kind === 'nothing') watch.nothings++;
          screen.tell(deed, watch.moment());
        },
      }),
    );
    const failed = Promise.race(loops);
    await Promise.race([failed, watch.untilSettled(screen, signal)]);
    const before = watch.nothings;
    while (!signal.aborted && watch.nothings < before + VAIN_LOOKS * hired.length) {
      await Promise.race([failed, pause(LOOK_MS)]);
      screen.show(watch.moment());
    }
    const blocked = watch.tasks.find((task) => task.state === 'blocked');
    const executor = hired[0]?.agent.client;
    const refused = blocked === undefined ? null : ((await executor?.insist(blocked.id)) ?? null);
    return { tasks: watch.tasks, night, afterwards: watch.nothings - before, refused };
  } finally {
    switchOff.abort();
    await Promise.allSettled(loops);
    // A board that is on its way out takes its keys along.
    await Promise.allSettled(hired.map(({ revokePath }) => operator.call('DELETE', revokePath)));
  }
}

function planOf(night: readonly NightTask[]): object {
  return {
    run: {
      name: 'the night of the sixteen reworks',
      limits: { max_iterations: night.length * STARTS_PER_TASK },
    },
    tasks: night.map(({ title, description, acceptance }, index) => ({
      ref: `task-${index + 1}`,
      title,
      description,
      acceptance,
      labels: ['demo'],
    })),
  };
}

async function hire(
  url: string,
  operator: Client,
): Promise<{ readonly agent: NightAgent; readonly revokePath: string }[]> {
  const hired = [];
  for (const { name, role } of AGENTS) {
    const { key, revokePath } = await operator.keyFor(name, role);
    hired.push({ agent: { name, role, client: new Client(url, key) }, revokePath });
  }
  return hired;
}

/** Looks at the board again and again. */
class Watch {
  nothings = 0;
  private readonly begin = performance.now();

  constructor(
    private readonly planner: Client,
    private readonly runId: string,
    public tasks: readonly BoardTask[],
    private readonly night: readonly NightTask[],
  ) {}

  moment(): Moment {
    const seconds = (performance.now() - this.begin) / 1000;
    return { tasks: this.tasks, night: this.night, seconds, nothings: this.nothings };
  }

  async untilSettled(screen: Screen, signal: AbortSignal): Promise<void> {
    let last = { what: '', at: performance.now() };
    while (!this.tasks.every(hasSettled)) {
      if (signal.aborted) return;
      await pause(LOOK_MS);
      this.tasks = await this.planner.tasks(this.runId);
      screen.show(this.moment());
      const what = this.tasks.map(({ state, attempt }) => `${state} ${attempt}`).join();
      if (what !== last.what) last = { what, at: performance.now() };
      else if (performance.now() - last.at > STALLED_MS)
        throw new DemoError(`Nothing has moved on the board for ${STALLED_MS / 1000} seconds: ${what}.`);
    }
  }
}
