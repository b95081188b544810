// The store of runs: every write is one transaction, and a fail point by its name.
import { Type } from "@sinclair/typebox";
import { type Bound, type Db, sql, store, withRoots } from "../../../database/index.ts";
import { RunRow } from "../run.ts";
import { StepRow } from "../step.ts";
import { CRASHES_OF_SUSPECT, claim, claimSuspect, hasSuspect, reclaim, release } from "./claim.ts";
import { countQueued, countStarted, listFailures } from "./counts.ts";
import { decide, expire } from "./decision.ts";
import { cancel, finish } from "./finish.ts";
import { listImages, storeImage } from "./images.ts";
import { loadBefore, loadHistory, loadLog } from "./log.ts";
import { listRunMarks } from "./marks.ts";
import { countActive, countEnded, findRangeEnd, listActive, listEnded } from "./overview.ts";
import { listResults, listRuns, listSteps, RunPosition } from "./reads.ts";
import { sweepRuns, sweepStarts } from "./retention.ts";
import { beginWait, recordIntent, recordRound } from "./round.ts";
import { findEarlier, findStartable, type Idempotency, type PreparedRun, start } from "./start.ts";

const Id = Type.Object({ id: Type.String() });
const Account = Type.Object({ account_id: Type.String() });
const ClaimedRun = Type.Object({
  id: Type.String(),
  epoch: Type.Integer(),
  pending_approvals: Type.Array(Type.String()),
  last_seq: Type.Integer(),
  crashes: Type.Integer(),
});
const Output = Type.Object({ content: Type.String() });

const declared = store(
  "runs",
  {
    /** agents.authentication.6: finds runs of the account; operators pass null. */
    find: async (db, id: string, account_id: string | null) => {
      const run = await db.one(RunRow, sql`SELECT * FROM runs WHERE id = ${id}`);
      return account_id === null || run?.account_id === account_id ? run : undefined;
    },
    findStartable,
    findStarted: (db, account_id: string, agent_id: string, key: Idempotency, now: number) =>
      findEarlier(db, { account_id, agent_id, created_at: now }, key),
    list: listRuns,
    listActive,
    listEnded,
    findRangeEnd,
    countActive,
    countEnded,
    listSteps,
    listResults,
    listMarks: listRunMarks,
    countQueued,
    listFailures,
    countStarted,
    findPosition: (db, run_id: string) =>
      db.one(RunPosition, sql`SELECT status, last_seq, started_at FROM runs WHERE id = ${run_id}`),
    findThreadOwner: async (db, thread_id: string) => {
      const thread = sql`SELECT account_id FROM threads WHERE id = ${thread_id}`;
      return (await db.one(Account, thread))?.account_id;
    },
    /** Finds the whole of a result that its step shows in parts. */
    findOutput: async (db, run_id: string, tool_call_id: string) => {
      const output = sql`SELECT content FROM tool_outputs
        WHERE run_id = ${run_id} AND tool_call_id = ${tool_call_id}`;
      return (await db.one(Output, output))?.content;
    },
    listDecisions: (db, run_id: string, round: number) =>
      db.all(
        StepRow,
        sql`SELECT * FROM steps WHERE run_id = ${run_id} AND round = ${round}
              AND kind = 'approval' ORDER BY seq`,
      ),
    listImages,
    load: loadLog,
    loadBefore,
    loadHistory,
    listWaiting: async (db) => {
      const rows = await db.all(
        Account,
        sql`SELECT DISTINCT account_id FROM runs
            WHERE epoch = 0 AND status IN ('queued', 'running')
              AND crashes < ${CRASHES_OF_SUSPECT}`,
      );
      return rows.map(({ account_id }) => account_id);
    },
    listCancelled: async (db, epoch: number) => {
      const rows = await db.all(
        Id,
        sql`SELECT id FROM runs WHERE epoch = ${epoch} AND epoch > 0 AND cancel_requested = 1`,
      );
      return rows.map(({ id }) => id);
    },
    hasSuspect,
    listHeld: (db: Db) =>
      db.all(
        ClaimedRun,
        sql`SELECT id, epoch, pending_approvals, last_seq, crashes FROM runs
            WHERE epoch > 0 ORDER BY epoch`,
      ),
  },
  {
    start: (tx, prepared: PreparedRun) => start(tx, prepared, true),
    cancel,
    claim,
    claimSuspect,
    release,
    reclaim,
    plan: recordRound,
    intend: recordIntent,
    settle: recordRound,
    note: recordRound,
    wait: beginWait,
    storeImage,
    finish,
    decide,
    expire,
    sweep: sweepRuns,
    sweepStarts,
  },
  ["findStartable"],
);

export const runStore = withRoots(declared, {
  start: ({ run }) => run.account_id,
  claim: () => "queue",
  release: (_, run_id) => run_id,
  plan: ({ run_id }) => run_id,
  intend: ({ run_id }) => run_id,
  settle: ({ run_id }) => run_id,
  note: ({ run_id }) => run_id,
  wait: (run_id) => run_id,
  finish: ({ run_id }) => run_id,
});
export type RunStore = Bound<typeof runStore>;
