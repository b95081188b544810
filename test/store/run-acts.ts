// Acts shared by the cases of the store of runs.

import type { RecoveryFinding } from "../../src/agents/runs/store/claim.ts";
import type { RunFilter } from "../../src/agents/runs/store/reads.ts";
import type { PreparedRun } from "../../src/agents/runs/store/start.ts";
import type { FinalStatus } from "../../src/agents/runs/transitions.ts";
import { BEGIN, makePreparedRun, makeRecord, makeStep } from "../support/runs.ts";
import type { Stores } from "./cases.ts";

export const DAY_MS = 86_400_000;
/** Every run of the account. */
export const EVERY: RunFilter = {
  ...{ account_id: "a-1", agent_id: null, thread_id: null, status: null, trigger_kind: null },
  ...{ created_after: null, created_before: null, metadata: {}, after: null, before: null },
  limit: 100,
};
/** The numbers from 1 on. */
export const count = (to: number) => Array.from({ length: to }, (_, i) => i + 1);
export const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => "accepted",
    (failure: { code?: string }) => failure.code,
  );
export const start = ({ runs }: Stores, id: string, ...more: [object?, Partial<PreparedRun>?]) =>
  runs.start(makePreparedRun(id, ...more));
export const startMany = async (stores: Stores, ids: readonly string[]) => {
  for (const id of ids) await start(stores, id);
};
/** Registers process 1, and claims up to `runsMax` runs of the account for it. */
export const claimRuns = async ({ runs, processes }: Stores, runsMax = 100) => {
  if ((await processes.list()).length === 0) await processes.register(BEGIN);
  return runs.claim(1, [{ account_id: "a-1", runsMax: runsMax }], BEGIN + 5);
};
export const ended = (status: FinalStatus, event_id: string) => ({
  status,
  error: status === "succeeded" ? null : { code: status, message: "It ended." },
  event_id,
  fresh: count(4).map((n) => `id ${n} beside ${event_id}`),
});
export const end = async (
  stores: Stores,
  id: string,
  status: "succeeded" | "failed" = "succeeded",
) => stores.runs.finish(makeRecord(id), ended(status, `event of ${id}`));
/** Recovery's input for a run whose process died the nth time. */
export const finding = (
  run_id: string,
  nth = 0,
  more: Partial<RecoveryFinding> = {},
): RecoveryFinding => ({
  run_id,
  ...{ cause: "crash", hungCall: null },
  fresh: count(5).map((n) => `id ${n} of crash ${nth} of ${run_id}`),
  ...more,
});
/** A page reads the first three at once, the next alone, then the rest. */
export const makeLongSteps = () =>
  [100_000, 100_000, 100_000, 600_000, 1_000, 1_000].map((length, n) =>
    makeStep(`long-${n}`, "x".repeat(length)),
  );
