import { CAST, named } from './cast.js';
import { stepFor } from './choose/choose.js';
import type { Move } from './moves.js';
import { isFinal, type Rules } from './oracle/board.js';
import { linesOf, tripLine } from './oracle/lines.js';
import { Model, type Word } from './oracle/model.js';
import type { Play, Stage, Told } from './stage.js';
import { inWords, on, personOf, type Step, send, sweep } from './step.js';

/** Between two steps: so that no two of them have the same millisecond, by which claim order would be told apart. */
const TICK_MS = 10;

/** How often each command had each answer, and at how many steps which trip stood. */
export type Tally = Map<string, number>;

/** Plays one history on the model and on the service, and holds every answer and every row of the one against the other. */
class History {
  private readonly told: string[] = [];
  private isSwept = true;

  private constructor(
    private readonly model: Model,
    private readonly play: Play,
    private readonly tally: Tally,
  ) {}

  static async begin(stage: Stage, rules: Rules, tally: Tally): Promise<History> {
    return new History(new Model(rules), await stage.begin(rules), tally);
  }

  async move(move: Move): Promise<void> {
    await this.step(stepFor(this.model, move));
  }

  async step(step: Step): Promise<void> {
    // The served process looks all the time: what is due has been offered when somebody asks for the next.
    if (!this.isSwept && step.does === 'send' && step.command.type === 'claim_next') await this.step(sweep);
    this.told.push(inWords(step));
    this.tick();
    if (step.does === 'send') await this.send(step);
    if (step.does === 'pass') {
      this.model.pass(step.seconds * 1000);
      this.play.pass(step.seconds * 1000);
      this.isSwept = false;
    }
    if (step.does === 'sweep') {
      this.model.sweep();
      await this.play.sweep();
      this.isSwept = true;
    }
    if (step.does === 'restart') {
      this.model.restart();
      await this.play.restart();
    }
    await this.compareRows();
  }

  /** Leaves nothing open behind: what is due later is nobody's. */
  async end(): Promise<void> {
    for (const { id } of this.model.board.tasks.filter((task) => !isFinal(task)))
      await this.step(send('human', { ...on(0).cancel, taskId: id }));
  }

  /** The same for a history that has failed: whatever the service says. */
  async abandon(): Promise<void> {
    for (const { id } of this.model.board.tasks)
      await this.play.send(CAST.human, { ...on(0).cancel, taskId: id });
  }

  private count(what: string): void {
    this.tally.set(what, (this.tally.get(what) ?? 0) + 1);
  }

  private tick(): void {
    this.model.pass(TICK_MS);
    this.play.pass(TICK_MS);
  }

  private async send({ by, command }: Extract<Step, { does: 'send' }>): Promise<void> {
    const who = personOf(by);
    const expected = this.model.send(who, command);
    const { body, ...given } = await this.play.send(who, command).catch((error: unknown) => {
      throw this.difference(`the model says ${wordIn(expected)}, the service fails: ${error}`);
    });
    this.count(`${command.type} ${expected.code}`);
    const [model, service] = [wordIn(expected), wordIn(given)];
    this.told[this.told.length - 1] += ` → ${model}`;
    if (model !== service) throw this.difference(`the model says ${model}, the service ${service}`);
    if (body !== null && 'taskId' in command) this.compareAnswer(body, command.taskId);
  }

  /** What the answer says of the task is what the board has. */
  private compareAnswer(body: Told, id: string): void {
    const task = this.model.board.tasks.find((one) => one.id === id);
    if (task === undefined) throw this.difference('the service answers with a task that is not there');
    const model = [task.state, task.tries.length, task.reworks, task.errors, task.tokens, task.trips];
    const { state, attempt, rework_count, error_count, tokens_used, trip_count } = body;
    const service = [state, attempt, rework_count, error_count, tokens_used, trip_count];
    if (String(model) !== String(service))
      throw this.difference(`the answer says ${service}, the model ${model}`);
  }

  private async compareRows(): Promise<void> {
    const { board } = this.model;
    for (const { trip } of [...board.tasks, ...board.runs]) if (trip !== null) this.count(tripLine(trip));
    const model = linesOf(board);
    const service = await this.play.lines();
    if (model === service) return;
    const lines = (all: string, others: string) =>
      all.split('\n').filter((line) => !others.split('\n').includes(line));
    throw this.difference(
      [
        'the rows differ',
        ...lines(model, service).map((line) => `  model:   ${line}`),
        ...lines(service, model).map((line) => `  service: ${line}`),
      ].join('\n'),
    );
  }

  private difference(what: string): Error {
    const steps = this.told.map((step, index) => `  ${index + 1}. ${step}`);
    return new Error(`${named(what)}\nafter\n${named(steps.join('\n'))}\n`);
  }
}

function wordIn({ code, claims, directive }: Word): string {
  const given = claims?.map(({ id, token, attempt }) => `${id}#${token} attempt ${attempt}`).join(', ');
  return named([code, given, directive].filter((part) => part !== undefined).join(' '));
}

/** Plays a drawn history. */
export async function playMoves(
  stage: Stage,
  rules: Rules,
  moves: readonly Move[],
  tally: Tally,
): Promise<void> {
  await played(stage, rules, tally, async (history) => {
    for (const move of moves) await history.move(move);
  });
}

/** Plays a history that is written down. */
export async function playSteps(stage: Stage, rules: Rules, steps: readonly Step[]): Promise<void> {
  await played(stage, rules, new Map(), async (history) => {
    for (const step of steps) await history.step(step);
  });
}

async function played(
  stage: Stage,
  rules: Rules,
  tally: Tally,
  play: (history: History) => Promise<void>,
): Promise<void> {
  const history = await History.begin(stage, rules, tally);
  try {
    await play(history);
    await history.end();
  } catch (error) {
    await history.abandon();
    throw error;
  }
}
