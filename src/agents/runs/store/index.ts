// Runs in the database: all that moves a run, each write one transaction.
import { Type } from "@sinclair/typebox";
import { sql, store, type Tx } from "../../../database/index.ts";
import { RunRow } from "../run.ts";
import { StepRow } from "../step.ts";
import { type Admission, findEarlier, type Idempotency, start } from "./admission.ts";
import { cancel } from "./cancel.ts";
import {
  type ClaimQuota,
  CRASHES_OF_SUSPECT,
  claim,
  claimSuspect,
  hasSuspect,
  type RecoveryFinding,
  recover,
  release,
} from "./claim.ts";
import type { FreshIds } from "./close.ts";
import { type DecisionInput, decide, expire, type Overdue } from "./decision.ts";
import { finish, type RunFinish } from "./finish.ts";
import { intend } from "./intent.ts";
import { listRuns, listSteps, type RunFilter, RunPosition } from "./lists.ts";
import { loadLog } from "./load.ts";
import type { RunRecord } from "./record.ts";
import { sweepRuns, sweepStarts } from "./retention.ts";
import { findStartable } from "./startable.ts";
import { type ApprovalRequest, beginWait, recordAsking } from "./wait.ts";

const Id = Type.Object({ id: Type.String() });
const Account = Type.Object({ account_id: Type.String() });
/** A run that a process has. */
const Held = Type.Object({
  id: Type.String(),
  epoch: Type.Integer(),
  pending_approvals: Type.Array(Type.String()),
  last_seq: Type.Integer(),
  crashes: Type.Integer(),
});
const Output = Type.Object({ content: Type.String() });

export const runStore = store(
  "runs",
  {
    /** agents.authentication.6: of this account; of any where it is null. */
    find: async (db, id: string, account_id: string | null) => {
      const run = await db.one(RunRow, sql`SELECT * FROM runs WHERE id = ${id}`);
      return account_id === null || run?.account_id === account_id ? run : undefined;
    },
    findStartable: (db, agent_id: string) => findStartable(db, agent_id),
    /** The run that the same request started within a day; another request's key is refused. */
    findStarted: (db, account_id: string, agent_id: string, given: Idempotency, now: number) =>
      findEarlier(db, { account_id, agent_id, created_at: now }, given),
    list: (db, filter: RunFilter) => listRuns(db, filter),
    listSteps: (db, run_id: string, after_seq: number, limit: number | null) =>
      listSteps(db, run_id, after_seq, limit),
    /** Where a run stands, without what it was asked and answered; undefined: it is gone. */
    findStanding: (db, run_id: string) =>
      db.one(RunPosition, sql`SELECT status, last_seq, started_at FROM runs WHERE id = ${run_id}`),
    findThreadOwner: async (db, thread_id: string) =>
      (await db.one(Account, sql`SELECT account_id FROM threads WHERE id = ${thread_id}`))
        ?.account_id,
    /** The whole of a result; undefined: what the step shows is the whole. */
    findOutput: async (db, run_id: string, tool_call_id: string) =>
      (
        await db.one(
          Output,
          sql`SELECT content FROM tool_outputs
              WHERE run_id = ${run_id} AND tool_call_id = ${tool_call_id}`,
        )
      )?.content,
    /** What was decided of the calls of a round. */
    listDecisions: (db, run_id: string, round: number) =>
      db.all(
        StepRow,
        sql`SELECT * FROM steps WHERE run_id = ${run_id} AND round = ${round}
              AND kind = 'approval' ORDER BY seq`,
      ),
    load: (db, run: RunRow) => loadLog(db, run),
    /** Accounts of which a run waits for a process, suspects left out. */
    listWaiting: async (db) => {
      const rows = await db.all(
        Account,
        sql`SELECT DISTINCT account_id FROM runs
            WHERE epoch = 0 AND status IN ('queued', 'running')
              AND crashes < ${CRASHES_OF_SUSPECT}`,
      );
      return rows.map(({ account_id }) => account_id);
    },
    /** Runs of a process that were asked to stop. */
    listCancelled: async (db, epoch: number) => {
      const rows = await db.all(
        Id,
        sql`SELECT id FROM runs WHERE epoch = ${epoch} AND epoch > 0 AND cancel_requested = 1`,
      );
      return rows.map(({ id }) => id);
    },
    /** True: a run waits that may be the cause of crashes. */
    hasSuspect: (db) => hasSuspect(db),
    /** Runs that processes have, those of the oldest first. */
    listHeld: (db) =>
      db.all(
        Held,
        sql`SELECT id, epoch, pending_approvals, last_seq, crashes FROM runs
            WHERE epoch > 0 ORDER BY epoch`,
      ),
  },
  {
    start: (tx, admission: Admission) => start(tx, admission),
    cancel: (tx, id: string, account_id: string | null, fresh: FreshIds, now: number) =>
      cancel(tx, id, account_id, fresh, now),
    claim: (tx, epoch: number, turns: readonly ClaimQuota[], now: number) =>
      claim(tx, epoch, turns, now),
    claimSuspect: (tx, epoch: number) => claimSuspect(tx, epoch),
    release: (tx, epoch: number, run_id: string, worked_ms: number) =>
      release(tx, epoch, run_id, worked_ms),
    recover: (tx, findings: readonly RecoveryFinding[], dead: readonly number[], now: number) =>
      recover(tx, findings, dead, now),
    /** A reply of the model, the calls that it plans, and what is asked of a person. */
    plan: (tx, given: RunRecord, requests: readonly ApprovalRequest[]) =>
      recordAsking(tx, given, requests),
    /** That calls will be sent; nothing is written where one of the tools is switched off. */
    intend: (tx, given: RunRecord, account_id: string, tools: readonly string[]) =>
      intend(tx, given, account_id, tools),
    /** Results of calls, and what is asked of a person about those of unknown outcome. */
    settle: (tx, given: RunRecord, requests: readonly ApprovalRequest[] = []) =>
      recordAsking(tx, given, requests),
    /** agents.states.p7: by a key or an operator; the approval as it is then. */
    decide: (tx, deciding: DecisionInput) => decide(tx, deciding),
    /** Approvals that nobody has decided in time; how many they were. */
    expire: (tx, overdue: readonly Overdue[], now: number) => expire(tx, overdue, now),
    /** What happened beside model and tools. */
    note: (tx, given: RunRecord) => recordAsking(tx, given, []),
    wait: (tx: Tx, run_id: string, epoch: number, worked_ms: number) =>
      beginWait(tx, run_id, epoch, worked_ms),
    /** False: the process has lost the run. The run itself need not travel back. */
    finish: async (tx, given: RunRecord, ending: RunFinish) =>
      (await finish(tx, given, ending)) !== null,
    /** Deletes finished runs from before `until` among the next `limit` behind an id. */
    sweep: (tx, after_id: string, until: number, limit: number) =>
      sweepRuns(tx, after_id, until, limit),
    /** Deletes up to `limit` keys of requests from before `until`; how many they were. */
    sweepStarts: (tx, until: number, limit: number) => sweepStarts(tx, until, limit),
  },
  ["findStartable"],
);
