// Which process executes which run: claims, releases, and runs reclaimed from dead processes.
import { type Static, Type } from "@sinclair/typebox";
import { notHeld } from "../../../access/holds/store.ts";
import { ModelStatesRow } from "../../../access/index.ts";
import { selectModelStates } from "../../../access/store.ts";
import { findClaimant, mayClaim } from "../../../cluster/store.ts";
import { type Db, none, type Sql, sql, type Tx } from "../../../database/index.ts";
import { apiError } from "../../../platform/errors.ts";
import { Row } from "../../../platform/schema.ts";
import { RunRow } from "../run.ts";
import { transit } from "../transitions.ts";
import { endIdle, type FreshIds } from "./finish.ts";
import { addSteps } from "./record.ts";

const NOT_HELD = notHeld(sql`runs.agent_id`, sql`runs.account_id`);

const Id = Type.Object({ id: Type.String() });
const STARTED = transit("queued", "start");

/** Crashes without progress that make a run a suspect: it may be their cause. */
export const CRASHES_OF_SUSPECT = 2;

/** Crashes without progress after which the next one ends the run. */
export const CRASHES_MAX = 5;

/** A run with what its first round reads of models. */
const RunClaim = Row(RunRow, ModelStatesRow.properties);
export type RunClaim = Static<typeof RunClaim>;

export interface ClaimQuota {
  account_id: string;
  runsMax: number;
}

/**
 * agents.states.queued_platform_start: claims the oldest waiting runs of each account. Held agents'
 * runs stay queued unless they have begun. Suspects are left to `claimSuspect`. A process that is
 * declared dead claims nothing, and so does a paused installation.
 */
export async function claim(
  tx: Tx,
  epoch: number,
  turns: readonly ClaimQuota[],
  now: number,
): Promise<RunClaim[]> {
  // Sent at once: the claim repeats the condition of the lock before it.
  const locking = mayClaim(tx, epoch);
  const claiming = turns.map(({ account_id, runsMax }) => {
    const rows = tx.all(
      RunClaim,
      // Materialized: PostgreSQL may run a subquery again, and so claim more than its limit.
      sql`WITH waiting AS MATERIALIZED (${selectWaiting(account_id)}
            ORDER BY number LIMIT ${runsMax} ${tx.skipLocked})
          UPDATE runs SET epoch = ${epoch}, status = ${STARTED},
            started_at = COALESCE(started_at, ${now})
          WHERE id IN (SELECT id FROM waiting) AND EXISTS (${findClaimant(epoch)})
          RETURNING *, ${selectModelStates(sql`runs.account_id`)}`,
    );
    return Promise.all([rows, isLeft(tx, account_id)]);
  });
  tx.commitEarly();
  const claimed: RunClaim[] = [];
  const [, found] = await Promise.all([locking, Promise.all(claiming)]);
  for (const [at, [rows, left]] of found.entries()) {
    const { account_id, runsMax } = turns[at]!;
    // A run that was locked, as by a decision on it, is not claimed: the engine tries again.
    if (left && rows.length < runsMax) tx.tell("runs.queued", account_id);
    claimed.push(...rows.sort((one, other) => one.number - other.number));
  }
  for (const { id } of claimed) tx.tell("run", id);
  return claimed;
}

function selectWaiting(account_id: string): Sql {
  return sql`SELECT id FROM runs
    WHERE account_id = ${account_id} AND epoch = 0 AND status IN ('queued', 'running')
      AND crashes < ${CRASHES_OF_SUSPECT} AND (status = 'running' OR ${NOT_HELD})`;
}

async function isLeft(tx: Tx, account_id: string): Promise<boolean> {
  if (tx.skipLocked === none) return false;
  return (await tx.one(Id, sql`${selectWaiting(account_id)} LIMIT 1`)) !== undefined;
}

// CRASHES_OF_SUSPECT as text: a parameter would not use the partial index `runs_suspected`.
const SUSPECTS = sql`crashes >= 2 AND finished_at IS NULL`;

/**
 * Claims the suspect with the fewest crashes while no process executes one. So a run that kills its
 * process takes no other suspect with it.
 */
export async function claimSuspect(tx: Tx, epoch: number): Promise<RunRow | undefined> {
  if (!(await mayClaim(tx, epoch))) return undefined;
  const claimed = await tx.one(
    RunRow,
    sql`UPDATE runs SET epoch = ${epoch}
        WHERE id = (SELECT id FROM runs WHERE ${SUSPECTS} AND epoch = 0 AND status = 'running'
            ORDER BY crashes, id LIMIT 1)
          AND NOT EXISTS (SELECT 1 FROM runs WHERE ${SUSPECTS} AND epoch > 0)
        RETURNING *`,
  );
  if (claimed) tx.tell("run", claimed.id);
  return claimed;
}

/** Cheap look before `claimSuspect`, which is a write. */
export async function hasSuspect(db: Db): Promise<boolean> {
  const waiting = await db.one(
    Type.Object({ id: Type.String() }),
    sql`SELECT id FROM runs WHERE ${SUSPECTS} AND epoch = 0 AND status = 'running' LIMIT 1`,
  );
  return waiting !== undefined;
}

export async function release(tx: Tx, epoch: number, run_id: string, worked_ms: number) {
  const released = await tx.one(
    Type.Object({ account_id: Type.String() }),
    sql`UPDATE runs SET epoch = 0, worked_ms = ${worked_ms}
        WHERE id = ${run_id} AND epoch = ${epoch} RETURNING account_id`,
  );
  if (released) tx.tell("runs.queued", released.account_id);
}

export interface RecoveryFinding {
  run_id: string;
  fresh: FreshIds;
  /**
   * `crash`: its process died. `stray`: its process lives and doesn't execute it. `bug`: stray for
   * the second time without progress, by a bug.
   */
  cause: "crash" | "stray" | "bug";
  /** Call that blocked the event loop until the watchdog ended the process, if known. */
  hungCall: string | null;
}

/** Takes runs from dead epochs: each is queued again, or fails where it is given up. */
export async function reclaim(
  tx: Tx,
  findings: readonly RecoveryFinding[],
  dead: readonly number[],
  now: number,
): Promise<void> {
  for (const finding of findings) {
    const row = await tx.one(RunRow, sql`SELECT * FROM runs WHERE id = ${finding.run_id}`);
    if (!row || !dead.includes(row.epoch)) continue;
    const error = findError(row, finding);
    if (error) {
      const status = transit(row.status, "fail");
      await endIdle(tx, row, { status, error }, finding.fresh, now);
    } else await requeue(tx, row, finding, now);
  }
}

function findError({ crashes }: RunRow, { cause }: RecoveryFinding): RunRow["error"] {
  if (cause === "bug") {
    return { code: "internal_error", message: apiError("internal_error").message };
  }
  if (cause === "stray" || crashes < CRASHES_MAX) return null;
  const message =
    `The service ended ${CRASHES_MAX + 1} times in a row while the run was under way, ` +
    "before a step of it was stored.";
  return { code: "crash_loop", message };
}

async function requeue(
  tx: Tx,
  row: RunRow,
  { fresh, cause, hungCall }: RecoveryFinding,
  now: number,
): Promise<void> {
  const last_seq = row.last_seq + 1;
  const recoveries = row.recoveries + 1;
  await tx.run(
    sql`UPDATE runs SET epoch = 0, recoveries = ${recoveries}, last_seq = ${last_seq},
          crashes = crashes + ${cause === "crash" ? 1 : 0}
        WHERE id = ${row.id}`,
  );
  const message = "The run was broken off while it was under way; it was taken up again.";
  const detail = hungCall === null ? { recoveries } : { recoveries, hung: hungCall };
  const data = { event: "recovered" as const, message, detail };
  const step = { id: fresh[0]!, kind: "system" as const, round: row.usage.rounds, data };
  await addSteps(tx, row.id, [step], { last_seq, at: now, status: row.status });
  tx.tell("run", row.id);
  tx.tell("runs.queued", row.account_id);
}
