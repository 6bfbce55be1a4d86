import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { serverActor } from '../../../src/kernel/actor.js';
import { newId } from '../../../src/kernel/ids.js';
import type { Plant, PlantedService } from './planted-services.js';
import type { OnTheWay } from './tamper.js';

/** Faults as they are made in systems of this kind, planted around the true service: into its database, or on the way there. */

/**
 * The compare-and-set no longer compares, and the keys that would notice two writers at one place are gone: what was read may be
 * old when it is written over.
 */
const UNFENCED = `
  CREATE FUNCTION advance_unfenced(project uuid, expected bigint, events integer) RETURNS double precision LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE projects SET revision = revision + 1, position = position + events WHERE id = project;
    RETURN extract(epoch FROM clock_timestamp()) * 1000;
  END $$;
  ALTER TABLE events DROP CONSTRAINT events_pkey;
  DROP INDEX events_project_id_task_id_number_key;
  ALTER TABLE attempts DROP CONSTRAINT attempts_pkey;`;

/** How long a command without a fence is on its way from what it has read to what it writes. */
const SLOW_MS = 15;

/** Commands that leave one of these events are written without the fence. */
function unfenced(...types: readonly string[]): Plant {
  const isList = (value: unknown): value is string =>
    typeof value === 'string' && /^\{[a-z_.,]+\}$/.test(value);
  const isMeant = ({ text, values }: OnTheWay) =>
    text.includes('advance_project(') &&
    values.some((value) => isList(value) && types.some((type) => value.includes(type)));
  return {
    sql: UNFENCED,
    rewrite: (statement) => {
      if (!isMeant(statement)) return statement;
      const name = `${statement.name}_unfenced`;
      const text = statement.text.replace('advance_project(', 'advance_unfenced(');
      return pause(SLOW_MS, { ...statement, name, text });
    },
  };
}

/** Two claims read a task that is free, and both write that they have it. */
export const READ_THEN_WRITE_CLAIM = unfenced('task.claimed');

/** A verdict is written over whatever became of the attempt since it was read. */
export const UNFENCED_VERDICT = unfenced('task.approved', 'task.rework_requested', 'task.review_failed');

const COUNT_LATE_MS = 5;

/** Tokens are added up after the commit that they belong to, by a second statement that writes the sum as it was read. */
export const COUNT_OUTSIDE: Plant = {
  sql: `
    CREATE TABLE late_counts (project_id uuid, id uuid, tokens_used bigint);
    CREATE FUNCTION put_count_off() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO late_counts VALUES (NEW.project_id, NEW.id, NEW.tokens_used);
      NEW.tokens_used := OLD.tokens_used;
      RETURN NEW;
    END $$;
    CREATE TRIGGER count_outside BEFORE UPDATE ON tasks FOR EACH ROW
      WHEN (NEW.tokens_used > OLD.tokens_used AND current_setting('proof.counting', true) IS DISTINCT FROM 'on')
      EXECUTE FUNCTION put_count_off();
    CREATE FUNCTION count_late() RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM set_config('proof.counting', 'on', true);
      WITH late AS (DELETE FROM late_counts RETURNING *)
      UPDATE tasks t SET tokens_used = late.tokens_used FROM late WHERE t.project_id = late.project_id AND t.id = late.id;
    END $$;`,
  async afterCommit(pool) {
    await pause(COUNT_LATE_MS);
    await pool.query('SELECT count_late()');
  },
};

/** The answer to a command is not kept for its key: sent again, it is done again. */
export const LOST_IDEMPOTENCY: Plant = {
  sql: `
    CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
    CREATE TRIGGER forget BEFORE INSERT ON idempotency_keys FOR EACH ROW EXECUTE FUNCTION forget();`,
};

const RELAY_MS = 500;

/** Events are appended by a relay, a moment after the commit that made them true. */
export const EVENT_OUTSIDE: Plant = {
  sql: `
    CREATE TABLE late_events (LIKE events);
    CREATE FUNCTION put_event_off() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO late_events VALUES (NEW.*);
      RETURN NULL;
    END $$;
    CREATE TRIGGER event_outside BEFORE INSERT ON events FOR EACH ROW
      WHEN (current_setting('proof.relaying', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION put_event_off();
    CREATE FUNCTION relay_events() RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM set_config('proof.relaying', 'on', true);
      WITH late AS (DELETE FROM late_events RETURNING *) INSERT INTO events SELECT * FROM late;
    END $$;`,
  beside: (_open, pool) => every(RELAY_MS, () => pool.query('SELECT relay_events()')),
};

/** Leases that ran out are looked for, and ended a moment later: only if they are still those, as their tokens say. */
export const CAREFUL_SWEEPER = sweeping('by token');

/** The same, but whatever lease the task has by then is ended. */
export const TOKEN_IGNORED = sweeping('whatever is there');

const LOOK_EVERY_MS = 15;
/** How old a sweeper's list is by the time it acts on it. */
const LIST_AGE_MS = 400;

function sweeping(ends: 'by token' | 'whatever is there'): Plant {
  const ignores = ends === 'whatever is there';
  // To this one every lease has always run out.
  const blind = ({ name, text, values }: OnTheWay): OnTheWay => ({
    name,
    text:
      name === 'tasks_by_id'
        ? text.replace(' lease_expires_at,', ' lease_started_at AS lease_expires_at,')
        : text,
    values,
  });
  return {
    silent: 0.4,
    sweeps: true,
    beside: (open, pool) => {
      const service = open(ignores ? { rewrite: blind } : {});
      const acting = new Set<Promise<void>>();
      const act = async (found: readonly LeaseRow[]): Promise<void> => {
        await pause(LIST_AGE_MS);
        const now = ignores ? await leases(pool, 'true') : found;
        for (const lease of now) if (found.some(({ id }) => id === lease.id)) await expire(service, lease);
      };
      const stop = every(LOOK_EVERY_MS, async () => {
        const found = await leases(pool, 'lease_expires_at < clock_timestamp()');
        if (found.length === 0) return;
        const acted = act(found).finally(() => acting.delete(acted));
        acting.add(acted);
      });
      return async () => {
        await stop();
        await Promise.all(acting);
        await service.close();
      };
    },
  };
}

interface LeaseRow {
  readonly project_id: string;
  readonly id: string;
  readonly lease_token: number;
}

async function leases(pool: pg.Pool, which: string): Promise<readonly LeaseRow[]> {
  const { rows } = await pool.query<LeaseRow>(
    `SELECT project_id, id, lease_token FROM tasks WHERE lease_kind IS NOT NULL AND ${which}`,
  );
  return rows;
}

async function expire(service: PlantedService, lease: LeaseRow): Promise<void> {
  await service.tasks.send({
    actor: serverActor(lease.project_id),
    command: { type: 'expire', taskId: lease.id, leaseToken: lease.lease_token },
    idempotency: null,
    request: { requestId: `server-${newId()}`, traceId: newId().replaceAll('-', '') },
  });
}

/** Does something again and again, with a pause between; answers how to stop. */
function every(ms: number, work: () => Promise<unknown>): () => Promise<void> {
  const stopping = new AbortController();
  const running = (async () => {
    while (!stopping.signal.aborted) {
      await work();
      await pause(ms);
    }
  })();
  return () => {
    stopping.abort();
    return running;
  };
}
