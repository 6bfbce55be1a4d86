import type { Role } from '../../../../src/kernel/actor.js';
import type { AnyCommand } from '../../../../src/modules/tasks/types.js';
import type { Person } from '../cast.js';
import { type Board, newBoard, Refused, type Rules, refuse, taskOf } from './board.js';
import { breaker, close, endProbes, isolate } from './breakers.js';
import { type Claim, claim, claimNext } from './claims.js';
import { tryAgain } from './guard.js';
import { approve, rework } from './judge.js';
import { block, cancel, create, escalate, split, unblock, update } from './plan.js';
import { decideRun } from './runs.js';
import * as work from './work.js';

/** What a command is answered with: done, created, none, or the code of its refusal; and what a claim gave, or a heartbeat says. */
export interface Word {
  readonly code: string;
  readonly claims?: readonly Claim[];
  readonly directive?: 'continue' | 'stop';
}

/** Who may send what. Whoever holds a lease needs no role. */
const ROLES: { readonly [type in AnyCommand['type']]: readonly Role[] | 'holder' | 'server' } = {
  create: ['planner'],
  update: ['planner'],
  unblock: ['planner'],
  split: ['planner'],
  escalate: ['planner'],
  cancel: ['planner'],
  create_run: ['planner'],
  update_run: ['planner'],
  recover_run: ['planner'],
  close_run: ['planner'],
  approve: ['reviewer'],
  rework: ['reviewer'],
  claim: ['executor', 'reviewer'],
  claim_next: ['executor', 'reviewer'],
  isolate_breaker: ['operator'],
  close_breaker: ['operator'],
  block: 'holder',
  heartbeat: 'holder',
  report_usage: 'holder',
  submit: 'holder',
  fail: 'holder',
  release: 'holder',
  expire: 'server',
  wake: 'server',
};

/** The board as the domain has it: a plain, small oracle that shares no decision with the service. */
export class Model {
  board: Board;

  constructor(rules: Rules) {
    this.board = newBoard(rules);
  }

  get now(): number {
    return this.board.now;
  }

  pass(ms: number): void {
    this.board.now += ms;
  }

  /** The process begins again: whom it has seen is forgotten. */
  restart(): void {
    for (const id of Object.keys(this.board.seen)) this.board.seen[id] = 0;
  }

  /** What the server does by itself, once. */
  sweep(): void {
    for (const task of this.board.tasks) {
      if (work.hasRunOut(this.board, task)) work.expire(this.board, task);
      else if (task.probeAt !== null && task.probeAt <= this.board.now) tryAgain(this.board, task);
    }
  }

  /** A command by somebody; null is the server. */
  send(who: Person | null, command: AnyCommand): Word {
    const before = LEAVES_NOTHING.has(command.type) ? structuredClone(this.board) : null;
    if (who !== null) this.board.seen[who.id] = this.board.now;
    try {
      const word = this.decide(who, command);
      endProbes(this.board);
      return word;
    } catch (no) {
      if (!(no instanceof Refused)) throw no;
      if (before !== null) this.board = { ...before, seen: this.board.seen };
      return { code: no.code };
    }
  }

  private decide(who: Person | null, command: AnyCommand): Word {
    const { board } = this;
    if (who === null) {
      if (command.type !== 'expire') throw new Error('the server sweeps, and may be late with an expiry');
      const task = taskOf(board, command.taskId);
      if (task.lease?.token === command.leaseToken && work.hasRunOut(board, task)) work.expire(board, task);
      return { code: 'done' };
    }
    forbidRole(who, command);
    switch (command.type) {
      case 'claim':
        return { code: 'done', claims: claim(board, who, command) };
      case 'claim_next': {
        const claims = claimNext(board, who, command);
        return claims.length === 0 ? { code: 'none' } : { code: 'done', claims };
      }
      case 'heartbeat':
        return { code: 'done', directive: work.heartbeat(board, who, command) };
      case 'create':
        create(board, who, command);
        return { code: 'created' };
      case 'create_run':
        decideRun(board, who, command);
        return { code: 'created' };
      default:
        this.change(who, command);
        return { code: 'done' };
    }
  }

  private change(
    who: Person,
    command: Exclude<AnyCommand, { type: 'claim' | 'claim_next' | 'heartbeat' | 'create' | 'create_run' }>,
  ): void {
    const { board } = this;
    switch (command.type) {
      case 'report_usage':
        work.reportUsage(board, who, command);
        break;
      case 'submit':
        work.submit(board, who, command);
        break;
      case 'fail':
        work.fail(board, who, command);
        break;
      case 'release':
        work.release(board, who, command);
        break;
      case 'approve':
        approve(board, who, command);
        break;
      case 'rework':
        rework(board, who, command);
        break;
      case 'block':
        block(board, who, command);
        break;
      case 'unblock':
        unblock(board, who, command);
        break;
      case 'cancel':
        cancel(board, command);
        break;
      case 'update':
        update(board, who, command);
        break;
      case 'split':
        split(board, who, command);
        break;
      case 'escalate':
        escalate(board, command);
        break;
      case 'isolate_breaker':
        isolate(breaker(board, command.breakerId));
        break;
      case 'close_breaker':
        close(breaker(board, command.breakerId));
        break;
      case 'update_run':
      case 'recover_run':
      case 'close_run':
        decideRun(board, who, command);
        break;
      case 'expire':
      case 'wake':
        throw new Error('forbidden by its role');
    }
  }
}

/** Commands that begin to change before they know whether they may: all or nothing. */
const LEAVES_NOTHING: ReadonlySet<AnyCommand['type']> = new Set([
  'create',
  'update',
  'unblock',
  'split',
  'update_run',
  'recover_run',
]);

function forbidRole(who: Person, command: AnyCommand): void {
  const needed = ROLES[command.type];
  if (needed === 'server') refuse('forbidden_role');
  if (needed === 'holder') return;
  const purpose = 'purpose' in command ? command.purpose : null;
  const roles: readonly Role[] = purpose === null ? needed : [purpose === 'work' ? 'executor' : 'reviewer'];
  // An operator may call what a planner and a reviewer may.
  const standsIn =
    who.roles.includes('operator') && (roles.includes('planner') || roles.includes('reviewer'));
  if (!standsIn && !roles.some((role) => who.roles.includes(role))) refuse('forbidden_role');
}
