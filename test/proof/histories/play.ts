import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { chooseCall, Seen } from './choice.js';
import type { Connection } from './connection.js';
import { type Crew, createTask, type LogEntry, type Member, memberWith, readLog } from './crew.js';
import { type Random, randomFrom } from './random.js';
import type { Operation, Sent } from './specification.js';
import { LEASE_SECONDS } from './task.js';
import { answerOf, leaseEndIn, requestOf } from './wire.js';

/** How many operations a history has; one read at its end is added. */
export const OPERATIONS = 96;

/** From here on a verdict or an operator may finish the task. */
const MAY_FINISH = 64;

/** How many of those who claim fall silent. */
const SILENT = 0.1;

/** An operation, with what only the reader of a failure wants to know. */
export interface Played extends Operation {
  readonly who: string;
  /** Which of the processes it went to. */
  readonly process: number;
  /** The status of an answer that says nothing of the command's fate; null where there is none such. */
  readonly trouble: number | null;
}

/** Everything that happened to one task, and what its log says. */
export interface History {
  readonly taskId: string;
  readonly operations: readonly Played[];
  readonly log: readonly LogEntry[];
}

/** Where histories are played. */
export interface Setting {
  /** One for each process. */
  readonly connections: readonly [Connection, ...Connection[]];
  readonly crew: Crew;
  /** By how much the database's clock is ahead of the steady one of the histories, or a little more. */
  readonly aheadMs: number;
  /** How many of those who claim fall silent until their lease has run out; few unless said otherwise. */
  readonly silent?: number;
}

/** Plays one history: several clients at once, each sending one operation after another to one of the processes by chance. */
export async function playHistory(setting: Setting, seed: number): Promise<History> {
  const {
    crew,
    connections: [first],
  } = setting;
  const taskId = await createTask(first, crew);
  const stage = new Stage(setting, taskId, seed);
  await Promise.all(crew.map((member, n) => stage.act(member, randomFrom(seed * 1_000 + n))));
  await stage.lastLook(memberWith(crew, 'planner'));
  return { taskId, operations: stage.operations, log: await readLog(first, crew, taskId) };
}

/** A command that is sent a second time, with its key, by whichever client of its agent comes first. */
interface Repeat {
  readonly sent: Sent;
  readonly agentId: string;
}

class Stage {
  readonly operations: Played[] = [];
  private begun = 0;
  private readonly seen = new Seen();
  private repeats: readonly Repeat[] = [];
  /** Nobody hurries before: a holder has fallen silent, and its lease is to run out. */
  private silentUntil = 0;

  constructor(
    private readonly setting: Setting,
    private readonly taskId: string,
    private readonly seed: number,
  ) {}

  /** One client, from its first operation to its last. */
  async act(member: Member, random: Random): Promise<void> {
    while (this.begun < OPERATIONS) {
      const sent = this.repeated(member) ?? this.chosen(member, random);
      if (sent === null) {
        await pause(1 + random.below(20));
        continue;
      }
      this.begun += 1;
      if (sent.key !== null && random.chance(0.5))
        this.repeats = [...this.repeats, { sent, agentId: member.id }];
      // Some clients hang up before they are answered.
      const patience = random.chance(0.03) ? random.below(20) : null;
      const operation = await this.send(
        member,
        sent,
        random.below(this.setting.connections.length),
        patience,
      );
      if (operation.answer === null && sent.key !== null)
        this.repeats = [...this.repeats, { sent, agentId: member.id }];
      if (
        sent.call.type === 'claim' &&
        operation.answer?.code === 'ok' &&
        random.chance(this.setting.silent ?? SILENT)
      )
        this.silentUntil = performance.now() + LEASE_SECONDS * 1_200;
      // Real leases of real processes run out in real time.
      if (performance.now() < this.silentUntil) await pause(LEASE_SECONDS * (600 + random.below(700)));
    }
  }

  /** After everybody is done: what the task is in the end. */
  async lastLook(member: Member): Promise<void> {
    await this.send(member, { agent: member, call: { type: 'read' }, key: null, version: null }, 0, null);
  }

  private repeated({ id }: Member): Sent | null {
    const repeat = this.repeats.find(({ agentId }) => agentId === id);
    this.repeats = this.repeats.filter((one) => one !== repeat);
    return repeat?.sent ?? null;
  }

  private chosen(member: Member, random: Random): Sent | null {
    this.seen.silent = performance.now() < this.silentUntil;
    const call = chooseCall(random, member, this.seen, this.begun > MAY_FINISH);
    if (call === null) return null;
    const isCommand = call.type !== 'read';
    const key = isCommand && random.chance(0.3) ? `${this.seed}-${this.begun}` : null;
    const version = isCommand && random.chance(0.05) ? this.seen.version : null;
    return { agent: member, call, key, version };
  }

  private async send(
    member: Member,
    sent: Sent,
    process: number,
    patienceMs: number | null,
  ): Promise<Played> {
    const connection = this.setting.connections[process];
    if (connection === undefined) throw new Error(`there is no process ${process}`);
    const id = randomUUID();
    const invokedAt = performance.now();
    const got = await connection.send(requestOf(this.taskId, id, sent, member.apiKey), patienceMs);
    const answer = got === null ? null : answerOf(sent.call, got);
    const answeredAt = answer === null ? null : performance.now();
    if (answer !== null) this.seen.note(member, sent.call, answer);
    const trouble = got !== null && answer === null ? got.status : null;
    const end = got === null ? null : leaseEndIn(sent.call, got);
    const leaseUntil = end === null ? null : end - this.setting.aheadMs;
    const operation = {
      id,
      sent,
      invokedAt,
      answeredAt,
      answer,
      leaseUntil,
      who: member.name,
      process,
      trouble,
    };
    this.operations.push(operation);
    return operation;
  }
}
