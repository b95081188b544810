// Who executes what: the runs that processes take by their epochs, and those of the dead.
import { Type } from "@sinclair/typebox";
import { notHeld } from "../../../access/holds/store.ts";
import { isAlive } from "../../../cluster/store.ts";
import { type Db, sql, type Tx } from "../../../database/index.ts";
import { apiError } from "../../../platform/errors.ts";
import { RunRow } from "../run.ts";
import { transit } from "../transitions.ts";
import { closeRun, type FreshIds } from "./close.ts";
import { settleEnding } from "./finish.ts";
import { addSteps } from "./record.ts";

/** Once, so that the statement around it stays the same text. */
const FREE = notHeld(sql`runs.agent_id`, sql`runs.account_id`);

/** What has begun before stays what it is. */
const STARTED = transit("queued", "start");

/** Crashes without progress after which a run may be their cause. */
export const CRASHES_OF_SUSPECT = 2;

/** How many of an account's runs may be taken now. */
export interface ClaimQuota {
  account_id: string;
  runs_max: number;
}

/**
 * agents.states.queued_platform_start: gives a process the oldest runs that wait, so many of each
 * account. What an operator holds stays queued; what had begun before goes on. Suspects are left to
 * `claimSuspect`. None: also when others hold the process for dead.
 */
export async function claim(
  tx: Tx,
  epoch: number,
  turns: readonly ClaimQuota[],
  now: number,
): Promise<RunRow[]> {
  if (!(await isAlive(tx, epoch))) return [];
  const claimed: RunRow[] = [];
  for (const { account_id, runs_max } of turns) {
    const rows = await tx.all(
      RunRow,
      sql`UPDATE runs SET epoch = ${epoch}, status = ${STARTED},
            started_at = COALESCE(started_at, ${now})
          WHERE id IN (SELECT id FROM runs
            WHERE account_id = ${account_id} AND epoch = 0 AND status IN ('queued', 'running')
              AND crashes < ${CRASHES_OF_SUSPECT} AND (status = 'running' OR ${FREE})
            ORDER BY number LIMIT ${runs_max})
          RETURNING *`,
    );
    claimed.push(...rows.sort((one, other) => one.number - other.number));
  }
  for (const { id } of claimed) tx.tell("run", id);
  return claimed;
}

/** Suspects that wait, and those that a process has and that have made no progress since. */
const SUSPECTS = sql`crashes >= 2 AND finished_at IS NULL`;

/**
 * The suspect with the fewest crashes, while no process has one: so that whichever kills its
 * process takes no other with it.
 */
export async function claimSuspect(tx: Tx, epoch: number): Promise<RunRow | undefined> {
  if (!(await isAlive(tx, epoch))) return undefined;
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

/** Whether a suspect waits for a process. */
export async function hasSuspect(db: Db): Promise<boolean> {
  const waiting = await db.one(
    Type.Object({ id: Type.String() }),
    sql`SELECT id FROM runs WHERE ${SUSPECTS} AND epoch = 0 AND status = 'running' LIMIT 1`,
  );
  return waiting !== undefined;
}

/** What a process has not ended goes on in whichever process is next. */
export async function release(tx: Tx, epoch: number, run_id: string, worked_ms: number) {
  const released = await tx.one(
    Type.Object({ account_id: Type.String() }),
    sql`UPDATE runs SET epoch = 0, worked_ms = ${worked_ms}
        WHERE id = ${run_id} AND epoch = ${epoch} RETURNING account_id`,
  );
  if (released) tx.tell("runs.queued", released.account_id);
}

/** A run that nobody executes any more, and ids for what is written of that. */
export interface RecoveryFinding {
  run_id: string;
  fresh: FreshIds;
  /**
   * `crash`: its process died · `fall`: its process lives, and does not execute it · `bug`: that
   * again, by a bug and without progress.
   */
  why: "crash" | "fall" | "bug";
  /** The call that held up its process until it was ended; null: none that is known. */
  hung: string | null;
}

/** One crash more without progress, and it is the run that kills its processes. */
export const CRASHES_MAX = 5;

/** Runs that nobody executes go back into the line, save those that are given up. */
export async function recover(
  tx: Tx,
  findings: readonly RecoveryFinding[],
  dead: readonly number[],
  now: number,
): Promise<void> {
  for (const finding of findings) {
    const row = await tx.one(RunRow, sql`SELECT * FROM runs WHERE id = ${finding.run_id}`);
    if (!row || !dead.includes(row.epoch)) continue;
    const error = judgeCrash(row, finding);
    if (error) await giveUp(tx, row, error, finding.fresh, now);
    else await putBack(tx, row, finding, now);
  }
}

function judgeCrash({ crashes }: RunRow, { why }: RecoveryFinding): RunRow["error"] {
  if (why === "bug") {
    return { code: "internal_error", message: apiError("internal_error").message };
  }
  if (why === "fall" || crashes < CRASHES_MAX) return null;
  const message =
    `The service ended ${CRASHES_MAX + 1} times in a row while the run was under way, ` +
    "before a step of it was stored.";
  return { code: "crash_loop", message };
}

async function putBack(
  tx: Tx,
  row: RunRow,
  { fresh, why, hung }: RecoveryFinding,
  now: number,
): Promise<void> {
  const last_seq = row.last_seq + 1;
  const recoveries = row.recoveries + 1;
  await tx.run(
    sql`UPDATE runs SET epoch = 0, recoveries = ${recoveries}, last_seq = ${last_seq},
          crashes = crashes + ${why === "crash" ? 1 : 0}
        WHERE id = ${row.id}`,
  );
  const message = "The run was broken off while it was under way; it was taken up again.";
  const detail = hung === null ? { recoveries } : { recoveries, hung };
  const data = { event: "recovered" as const, message, detail };
  const step = { id: fresh[0]!, kind: "system" as const, round: row.usage.rounds, data };
  await addSteps(tx, row.id, [step], { last_seq, at: now, status: row.status });
  tx.tell("run", row.id);
  tx.tell("runs.queued", row.account_id);
}

async function giveUp(
  tx: Tx,
  row: RunRow,
  error: NonNullable<RunRow["error"]>,
  fresh: FreshIds,
  now: number,
): Promise<void> {
  const ended = await tx.one(
    RunRow,
    sql`UPDATE runs SET status = ${transit(row.status, "fail")}, epoch = 0,
          finished_at = ${now}, error = ${JSON.stringify(error)}
        WHERE id = ${row.id} RETURNING *`,
  );
  const [event_id, ...ids] = fresh;
  const whole = await closeRun(tx, ended!, row.status, ids, now);
  await settleEnding(tx, whole, event_id!, row.status);
  tx.tell("run", row.id);
}
