// What recovery passes to the store about the runs of a dead process.
import { expect, test } from "bun:test";
import { RunRecovery, type RunRecoveryOptions } from "../../../src/agents/runs/recovery.ts";
import { CRASHES_MAX, type RecoveryFinding } from "../../../src/agents/runs/store/claim.ts";
import { countFinishIds } from "../../../src/agents/runs/store/finish.ts";
import { UNWATCHED } from "../../../src/cluster/index.ts";
import { createManualClock } from "../../support/clock.ts";
import { createSeededIds } from "../../support/ids.ts";

const CASES: [who: string, epoch: number, hungCall: string | null][] = [
  ["of the epoch that hung gets the name of its call", 3, "call_1"],
  ["of a later epoch is not blamed for the hang", 4, null],
];

type Held = Partial<{ epoch: number; crashes: number; pending_approvals: string[] }>;

async function findOne(held: Held): Promise<RecoveryFinding> {
  const found: RecoveryFinding[] = [];
  const recovery = new RunRecovery({
    deps: {
      activity: { ...UNWATCHED, hung: { run_id: "r-1", epoch: 3, call: "call_1" } },
      clock: createManualClock(),
      ids: createSeededIds(),
      process: { epoch: 5 },
    },
    store: {
      listHeld: async () => [
        { id: "r-1", epoch: 3, last_seq: 1, crashes: 0, pending_approvals: [], ...held },
      ],
      reclaim: async (findings: readonly RecoveryFinding[]) => void found.push(...findings),
    },
    isActive: () => false,
    hasFailed: () => false,
  } as unknown as RunRecoveryOptions);
  await recovery.reclaim(() => true);
  return found[0]!;
}

test.each(CASES)("a run %s", async (_, epoch, hungCall) => {
  expect((await findOne({ epoch })).hungCall).toBe(hungCall);
});

test("a run that fails here twice without progress has a bug, as far as 1,000 runs are remembered", async () => {
  let held: { id: string; last_seq: number }[] = [];
  let found: readonly RecoveryFinding[] = [];
  const recovery = new RunRecovery({
    deps: {
      activity: UNWATCHED,
      clock: createManualClock(),
      ids: createSeededIds(),
      process: { epoch: 5 },
    },
    store: {
      listHeld: async () =>
        held.map((run) => ({ epoch: 5, crashes: 0, pending_approvals: [], ...run })),
      reclaim: async (findings: readonly RecoveryFinding[]) => {
        found = findings;
      },
    },
    isActive: () => false,
    hasFailed: () => true,
  } as unknown as RunRecoveryOptions);
  /** One pass finds them without a worker, and the next one takes them. */
  const fail = async (last_seq: number, ...ids: string[]) => {
    for (const listed of [[], ids, ids]) {
      held = listed.map((id) => ({ id, last_seq }));
      await recovery.reclaim(() => false);
    }
    return found.map(({ cause }) => cause);
  };
  const others = Array.from({ length: 999 }, (_, n) => `r-${n + 1}`);
  expect(await fail(1, "r-0")).toEqual(["stray"]);
  await fail(1, ...others);
  expect(await fail(2, "r-0")).toEqual(["bug"]);
  expect(await fail(1, "r-0")).toEqual(["stray"]);
  await fail(1, ...others);
  await fail(1, "r-1000");
  expect(await fail(2, "r-0")).toEqual(["stray"]);
});

test("a run that its next crash ends gets ids for its open calls and approvals", async () => {
  const approvals = ["ap-1", "ap-2"];
  const countIds = async (crashes: number) =>
    (await findOne({ crashes, pending_approvals: approvals })).fresh.length;
  expect(await countIds(CRASHES_MAX - 1)).toBe(1);
  expect(await countIds(CRASHES_MAX)).toBe(countFinishIds(approvals.length));
});
