// Who executes what: the runs that processes take by their epochs, and those of the dead.
import { Type } from "@sinclair/typebox";
import { notHeld } from "../../../access/holds/store.ts";
import { sql, type Tx } from "../../../platform/database/index.ts";
import { isAlive } from "../../../platform/processes/store.ts";
import { RunRow } from "../run.ts";
import { transit } from "../states.ts";
import { closeRun, type FreshIds } from "./closing.ts";
import { settleEnding } from "./ending.ts";
import { addSteps } from "./record.ts";

/** Once, so that the statement around it stays the same text. */
const FREE = notHeld(sql`runs.agent_id`, sql`runs.account_id`);

/** What has begun before stays what it is. */
const STARTED = transit("queued", "start");

/** How many of an account's runs may be taken now. */
export interface Turn {
  account_id: string;
  runs_max: number;
}

/**
 * agents.states.queued_platform_start: gives a process the oldest runs that wait, so many of each
 * account. What an operator holds stays queued; what had begun before goes on. None: also when
 * others hold the process for dead.
 */
export async function claim(
  tx: Tx,
  epoch: number,
  turns: readonly Turn[],
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
              AND (status = 'running' OR ${FREE})
            ORDER BY number LIMIT ${runs_max})
          RETURNING *`,
    );
    claimed.push(...rows.sort((one, other) => one.number - other.number));
  }
  for (const { id } of claimed) tx.tell("run", id);
  return claimed;
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

/** A run whose process died, and ids for what is written of that. */
export interface Finding {
  run_id: string;
  fresh: FreshIds;
}

/** One crash more, and it is the run that kills its processes. */
export const RECOVERIES_MAX = 5;

/** The runs of processes that are dead go back into the line, up to five times each. */
export async function recover(
  tx: Tx,
  findings: readonly Finding[],
  dead: readonly number[],
  now: number,
): Promise<void> {
  for (const { run_id, fresh } of findings) {
    const row = await tx.one(RunRow, sql`SELECT * FROM runs WHERE id = ${run_id}`);
    if (!row || !dead.includes(row.epoch)) continue;
    if (row.recoveries >= RECOVERIES_MAX) await failCrashLoop(tx, row, fresh, now);
    else await putBack(tx, row, fresh[0]!, now);
  }
}

async function putBack(tx: Tx, row: RunRow, step_id: string, now: number): Promise<void> {
  const last_seq = row.last_seq + 1;
  await tx.run(
    sql`UPDATE runs SET epoch = 0, recoveries = recoveries + 1, last_seq = ${last_seq}
        WHERE id = ${row.id}`,
  );
  const message = "The run was broken off while it was under way; it was taken up again.";
  const data = { event: "recovered" as const, message, detail: { recoveries: row.recoveries + 1 } };
  const step = { id: step_id, kind: "system" as const, round: row.usage.rounds, data };
  await addSteps(tx, row.id, [step], { last_seq, at: now, status: row.status });
  tx.tell("run", row.id);
  tx.tell("runs.queued", row.account_id);
}

async function failCrashLoop(tx: Tx, row: RunRow, fresh: FreshIds, now: number): Promise<void> {
  const message = `The run was broken off ${RECOVERIES_MAX + 1} times while it was under way.`;
  const ended = await tx.one(
    RunRow,
    sql`UPDATE runs SET status = ${transit(row.status, "fail")}, epoch = 0,
          finished_at = ${now},
          error = ${JSON.stringify({ code: "crash_loop", message })}
        WHERE id = ${row.id} RETURNING *`,
  );
  const [event_id, ...ids] = fresh;
  const whole = await closeRun(tx, ended!, row.status, ids, now);
  await settleEnding(tx, whole, event_id!, row.status);
  tx.tell("run", row.id);
}
