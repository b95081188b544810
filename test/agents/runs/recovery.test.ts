// Blame for a hung call among the runs of a dead process.
import { expect, test } from "bun:test";
import { RunRecovery, type RunRecoveryOptions } from "../../../src/agents/runs/recovery.ts";
import type { RecoveryFinding } from "../../../src/agents/runs/store/claim.ts";
import { UNWATCHED } from "../../../src/cluster/index.ts";
import { createManualClock } from "../../support/clock.ts";
import { createSeededIds } from "../../support/ids.ts";

const CASES: [who: string, epoch: number, hungCall: string | null][] = [
  ["of the epoch that hung gets the name of its call", 3, "call_1"],
  ["of a later epoch is not blamed for the hang", 4, null],
];

test.each(CASES)("a run %s", async (_, epoch, hungCall) => {
  const found: (string | null)[] = [];
  const recovery = new RunRecovery({
    deps: {
      activity: { ...UNWATCHED, hung: { run_id: "r-1", epoch: 3, call: "call_1" } },
      clock: createManualClock(),
      ids: createSeededIds(),
      process: { epoch: 5 },
    },
    store: {
      listHeld: async () => [{ id: "r-1", epoch, last_seq: 1, crashes: 0, pending_approvals: [] }],
      reclaim: async (findings: readonly RecoveryFinding[]) =>
        void found.push(...findings.map((one) => one.hungCall)),
    },
    isActive: () => false,
    hasFailed: () => false,
  } as unknown as RunRecoveryOptions);
  await recovery.reclaim(() => true);
  expect(found).toEqual([hungCall]);
});
