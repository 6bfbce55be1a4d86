


-- CreateTable
CREATE TABLE "projects" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "is_default" BOOLEAN NOT NULL DEFAULT false,
    "limits" JSONB NOT NULL DEFAULT '{}',
    "policies" JSONB NOT NULL DEFAULT '{}',
    "revision" BIGINT NOT NULL DEFAULT 0,
    "position" BIGINT NOT NULL DEFAULT 0,
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "projects_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "agents" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "roles" TEXT[],
    "last_seen_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "agents_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "api_keys" (
    "id" TEXT NOT NULL,
    "project_id" UUID NOT NULL,
    "agent_id" UUID NOT NULL,
    "hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "runs" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "is_default" BOOLEAN NOT NULL DEFAULT false,
    "state" TEXT NOT NULL,
    "iteration_mode" TEXT NOT NULL,
    "iterations" INTEGER NOT NULL DEFAULT 0,
    "limits" JSONB NOT NULL DEFAULT '{}',
    "tokens_used" BIGINT NOT NULL DEFAULT 0,
    "cost_micros" BIGINT NOT NULL DEFAULT 0,
    "deadline_at" TIMESTAMPTZ(3),
    "open_trip_id" UUID,
    "trip_count" INTEGER NOT NULL DEFAULT 0,
    "recover_count" INTEGER NOT NULL DEFAULT 0,
    "task_counts" JSONB NOT NULL DEFAULT '{}',
    "memory" JSONB NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "closed_at" TIMESTAMPTZ(3),

    CONSTRAINT "runs_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "tasks" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "run_id" UUID NOT NULL,
    "parent_id" UUID,
    "supersedes" UUID,
    "superseded_by" UUID,
    "dedupe_key" TEXT,
    "title" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "acceptance" TEXT[],
    "priority" SMALLINT NOT NULL,
    "labels" TEXT[],
    "depends_on" UUID[],
    "unmet" INTEGER NOT NULL DEFAULT 0,
    "has_dependants" BOOLEAN NOT NULL DEFAULT false,
    "limits" JSONB NOT NULL DEFAULT '{}',
    "not_before" TIMESTAMPTZ(3),
    "state" TEXT NOT NULL,
    "queue" TEXT,
    "rank" SMALLINT NOT NULL,
    "ready_at" TIMESTAMPTZ(3) NOT NULL,
    "due_at" TIMESTAMPTZ(3),
    "block_kind" TEXT,
    "block_reason" TEXT,
    "claimed_by" UUID,
    "lease_kind" TEXT,
    "lease_agent" UUID,
    "lease_token" INTEGER NOT NULL DEFAULT 0,
    "lease_seconds" INTEGER,
    "lease_started_at" TIMESTAMPTZ(3),
    "lease_expires_at" TIMESTAMPTZ(3),
    "attempt" INTEGER NOT NULL DEFAULT 0,
    "rework_count" INTEGER NOT NULL DEFAULT 0,
    "rework_total" INTEGER NOT NULL DEFAULT 0,
    "error_count" INTEGER NOT NULL DEFAULT 0,
    "error_total" INTEGER NOT NULL DEFAULT 0,
    "review_failures" INTEGER NOT NULL DEFAULT 0,
    "attempts_since_unblock" INTEGER NOT NULL DEFAULT 0,
    "tokens_used" BIGINT NOT NULL DEFAULT 0,
    "tokens_input" BIGINT NOT NULL DEFAULT 0,
    "tokens_output" BIGINT NOT NULL DEFAULT 0,
    "tokens_cache_read" BIGINT NOT NULL DEFAULT 0,
    "tokens_cache_write" BIGINT NOT NULL DEFAULT 0,
    "cost_micros" BIGINT NOT NULL DEFAULT 0,
    "unblock_count" INTEGER NOT NULL DEFAULT 0,
    "trip_count" INTEGER NOT NULL DEFAULT 0,
    "open_trip_id" UUID,
    "event_number" INTEGER NOT NULL DEFAULT 0,
    "memory" JSONB NOT NULL,
    "feedback" JSONB,
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "tasks_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "dependencies" (
    "project_id" UUID NOT NULL,
    "depends_on_id" UUID NOT NULL,
    "task_id" UUID NOT NULL,

    CONSTRAINT "dependencies_pkey" PRIMARY KEY ("project_id","depends_on_id","task_id")
);

-- CreateTable
CREATE TABLE "attempts" (
    "project_id" UUID NOT NULL,
    "task_id" UUID NOT NULL,
    "number" INTEGER NOT NULL,
    "agent_id" UUID NOT NULL,
    "lease_token" INTEGER NOT NULL,
    "session_id" UUID,
    "claimed_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),
    "outcome" TEXT NOT NULL,
    "result" JSONB,
    "result_hash" TEXT,
    "late_result" JSONB,
    "error" JSONB,
    "usage" JSONB NOT NULL DEFAULT '{}',
    "change" JSONB,
    "verdict" JSONB,

    CONSTRAINT "attempts_pkey" PRIMARY KEY ("project_id","task_id","number")
);

-- CreateTable
CREATE TABLE "trips" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "scope" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "task_id" UUID,
    "run_id" UUID,
    "value" DOUBLE PRECISION NOT NULL,
    "limit" DOUBLE PRECISION NOT NULL,
    "over_percent" DOUBLE PRECISION NOT NULL,
    "severity" TEXT NOT NULL,
    "action_required" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "layers" JSONB NOT NULL DEFAULT '[]',
    "opened_at" TIMESTAMPTZ(3) NOT NULL,
    "closed_at" TIMESTAMPTZ(3),
    "resolution" JSONB,

    CONSTRAINT "trips_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "breakers" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "scope" TEXT NOT NULL,
    "agent_id" UUID,
    "state" TEXT NOT NULL,
    "fingerprint" TEXT,
    "reason" TEXT,
    "opened_at" TIMESTAMPTZ(3),
    "half_open_at" TIMESTAMPTZ(3),
    "openings" INTEGER NOT NULL,
    "probe" JSONB,
    "failures" JSONB NOT NULL,
    "trip" JSONB,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "breakers_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "events" (
    "project_id" UUID NOT NULL,
    "position" BIGINT NOT NULL,
    "id" UUID NOT NULL,
    "type" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "task_id" UUID,
    "number" INTEGER,
    "run_id" UUID,
    "agent_id" UUID,
    "role" TEXT NOT NULL,
    "command" TEXT NOT NULL,
    "from_state" TEXT,
    "to_state" TEXT,
    "counters" JSONB,
    "reason" TEXT,
    "request_id" TEXT NOT NULL,
    "trace_id" TEXT NOT NULL,
    "data" JSONB NOT NULL DEFAULT '{}',

    CONSTRAINT "events_pkey" PRIMARY KEY ("project_id","position")
);

-- CreateTable
CREATE TABLE "idempotency_keys" (
    "project_id" UUID NOT NULL,
    "agent_id" UUID NOT NULL,
    "route" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "request_hash" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "answer" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("project_id","agent_id","route","key")
);

-- CreateIndex
CREATE UNIQUE INDEX "projects_name_key" ON "projects"("name");

-- CreateIndex
CREATE UNIQUE INDEX "agents_project_id_name_key" ON "agents"("project_id", "name");

-- CreateIndex
CREATE INDEX "api_keys_project_id_agent_id_idx" ON "api_keys"("project_id", "agent_id");

-- CreateIndex
CREATE UNIQUE INDEX "events_project_id_task_id_number_key" ON "events"("project_id", "task_id", "number");

-- CreateIndex
CREATE INDEX "idempotency_keys_created_at_idx" ON "idempotency_keys"("created_at");

-- AddForeignKey
ALTER TABLE "agents" ADD CONSTRAINT "agents_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_project_id_agent_id_fkey" FOREIGN KEY ("project_id", "agent_id") REFERENCES "agents"("project_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "runs" ADD CONSTRAINT "runs_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_project_id_run_id_fkey" FOREIGN KEY ("project_id", "run_id") REFERENCES "runs"("project_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;


-- From here on: what Prisma has no words for.

-- Claim order, exact, and only what can be claimed: a million finished tasks cost a claim nothing.
CREATE INDEX "tasks_queue_idx" ON "tasks"("project_id", "run_id", "queue", "rank", "ready_at", "id") WHERE "queue" IS NOT NULL;

-- What the server itself must look at, soonest first: leases to expire, tasks whose time has come.
CREATE INDEX "tasks_due_idx" ON "tasks"("due_at") WHERE "due_at" IS NOT NULL;

-- Open tasks by state, for lists and for `claimable`.
CREATE INDEX "tasks_open_idx" ON "tasks"("project_id", "state", "id") WHERE "finished_at" IS NULL;

CREATE INDEX "tasks_parent_idx" ON "tasks"("project_id", "parent_id") WHERE "parent_id" IS NOT NULL;

-- A dedupe key is held until its task is done, or another task supersedes it.
CREATE UNIQUE INDEX "tasks_dedupe_idx" ON "tasks"("project_id", "dedupe_key")
  WHERE "dedupe_key" IS NOT NULL AND "state" <> 'done' AND "superseded_by" IS NULL;

-- A task blocked by a limit has exactly one open trip; a run likewise.
CREATE UNIQUE INDEX "trips_open_task_idx" ON "trips"("project_id", "task_id") WHERE "task_id" IS NOT NULL AND "state" <> 'closed';
CREATE UNIQUE INDEX "trips_open_run_idx" ON "trips"("project_id", "run_id") WHERE "scope" = 'run' AND "state" <> 'closed';

CREATE INDEX "trips_task_idx" ON "trips"("project_id", "task_id", "id") WHERE "task_id" IS NOT NULL;
CREATE INDEX "trips_run_idx" ON "trips"("project_id", "run_id", "id") WHERE "run_id" IS NOT NULL;

CREATE UNIQUE INDEX "projects_default_idx" ON "projects"("is_default") WHERE "is_default";
CREATE UNIQUE INDEX "runs_default_idx" ON "runs"("project_id") WHERE "is_default";

ALTER TABLE "agents" ALTER COLUMN "roles" SET NOT NULL;
ALTER TABLE "tasks" ALTER COLUMN "acceptance" SET NOT NULL, ALTER COLUMN "labels" SET NOT NULL, ALTER COLUMN "depends_on" SET NOT NULL;

-- The machine's invariants, repeated where no bug in the service can pass them by.
ALTER TABLE "tasks"
  ADD CONSTRAINT "tasks_state_check" CHECK ("state" IN ('pending', 'in_progress', 'in_review', 'rework', 'blocked', 'done', 'cancelled')),
  ADD CONSTRAINT "tasks_queue_check" CHECK ("queue" IS NULL OR ("queue" = 'work' AND "state" IN ('pending', 'rework')) OR ("queue" = 'review' AND "state" = 'in_review')),
  ADD CONSTRAINT "tasks_lease_check" CHECK (
    ("lease_kind" IS NULL AND "lease_agent" IS NULL AND "lease_seconds" IS NULL AND "lease_started_at" IS NULL AND "lease_expires_at" IS NULL)
    OR ("lease_kind" IN ('work', 'review') AND "lease_agent" IS NOT NULL AND "lease_seconds" IS NOT NULL AND "lease_started_at" IS NOT NULL AND "lease_expires_at" IS NOT NULL)),
  ADD CONSTRAINT "tasks_lease_state_check" CHECK (("state" = 'in_progress') = ("lease_kind" IS NOT DISTINCT FROM 'work') AND ("lease_kind" IS DISTINCT FROM 'review' OR "state" = 'in_review')),
  ADD CONSTRAINT "tasks_block_check" CHECK (("state" = 'blocked') = ("block_kind" IS NOT NULL)),
  ADD CONSTRAINT "tasks_finished_check" CHECK (("state" IN ('done', 'cancelled')) = ("finished_at" IS NOT NULL)),
  ADD CONSTRAINT "tasks_counters_check" CHECK (
    "rework_count" >= 0 AND "error_count" >= 0 AND "review_failures" >= 0 AND "attempts_since_unblock" >= 0
    AND "tokens_used" >= 0 AND "cost_micros" >= 0 AND "unmet" >= 0
    AND "rework_total" >= "rework_count" AND "error_total" >= "error_count" AND "attempt" >= 0),
  -- Open while it is blocked, half-open while its probe is out.
  ADD CONSTRAINT "tasks_trip_check" CHECK ("open_trip_id" IS NULL OR "state" NOT IN ('done', 'cancelled')),
  ADD CONSTRAINT "tasks_priority_check" CHECK ("priority" BETWEEN 0 AND 9);

ALTER TABLE "runs"
  ADD CONSTRAINT "runs_state_check" CHECK ("state" IN ('open', 'tripped', 'closed')),
  ADD CONSTRAINT "runs_counters_check" CHECK ("iterations" >= 0 AND "tokens_used" >= 0 AND "cost_micros" >= 0);

ALTER TABLE "attempts"
  ADD CONSTRAINT "attempts_outcome_check" CHECK ("outcome" IN ('in_progress', 'submitted', 'failed', 'released', 'lease_expired', 'stopped')),
  ADD CONSTRAINT "attempts_ended_check" CHECK (("outcome" = 'in_progress') = ("ended_at" IS NULL)),
  ADD CONSTRAINT "attempts_verdict_check" CHECK ("verdict" IS NULL OR "result" IS NOT NULL);

ALTER TABLE "trips"
  ADD CONSTRAINT "trips_state_check" CHECK ("state" IN ('open', 'half_open', 'closed') AND ("state" = 'closed') = ("closed_at" IS NOT NULL));

ALTER TABLE "breakers"
  ADD CONSTRAINT "breakers_state_check" CHECK ("state" IN ('closed', 'open', 'isolated')),
  ADD CONSTRAINT "breakers_scope_check" CHECK (("scope" = 'agent') = ("agent_id" IS NOT NULL));

ALTER TABLE "events"
  ADD CONSTRAINT "events_number_check" CHECK (("task_id" IS NULL) = ("number" IS NULL));

-- The log is append-only, and so is the history of attempts.
CREATE FUNCTION "refuse_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'FB002';
END $$;
CREATE TRIGGER "events_append_only" BEFORE UPDATE OR DELETE ON "events" FOR EACH ROW EXECUTE FUNCTION "refuse_change"();
CREATE TRIGGER "events_no_truncate" BEFORE TRUNCATE ON "events" FOR EACH STATEMENT EXECUTE FUNCTION "refuse_change"();
CREATE TRIGGER "attempts_kept" BEFORE DELETE ON "attempts" FOR EACH ROW EXECUTE FUNCTION "refuse_change"();
CREATE TRIGGER "attempts_no_truncate" BEFORE TRUNCATE ON "attempts" FOR EACH STATEMENT EXECUTE FUNCTION "refuse_change"();

-- Compare-and-set of a whole project: what was decided over one revision is written at that revision or not at all. Answers the
-- time, in milliseconds since the epoch.
CREATE FUNCTION "advance_project"("project" uuid, "expected" bigint, "events" integer) RETURNS double precision LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "projects" SET "revision" = "revision" + 1, "position" = "position" + "events"
    WHERE "id" = "project" AND "revision" = "expected";
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the project is no longer at revision %', "expected" USING ERRCODE = 'FB001';
  END IF;
  RETURN extract(epoch FROM clock_timestamp()) * 1000;
END $$;
