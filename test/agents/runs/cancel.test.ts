// A cancel of a run that changes status at the same time.
import { afterEach, expect, test } from "bun:test";
import { cancelRun } from "../../../src/agents/runs/deps.ts";
import type { RunStore } from "../../../src/agents/runs/store/index.ts";
import { approvalsOf } from "./decisions.ts";
import { verifyLog } from "./log.ts";
import { createProcesses } from "./processes.ts";
import { createReceiver, makeSender, pin } from "./senders.ts";
import { type CallRequest, call, script } from "./trial.ts";

const { open, closeAll } = createProcesses();
afterEach(closeAll);

test("agents.states.waiting_approval_cancel cancels a run, last seen queued, together with its many pending approvals", async () => {
  const receiver = createReceiver();
  const payer = pin([makeSender("pay", receiver, { risk: "irreversible" })]);
  const calls = Array.from({ length: 32 }, (_, sum): CallRequest => ["pay", { sum }]);
  const trial = await open(script(call(...calls)), payer);
  const id = await trial.run();
  await trial.reaches(id, "waiting_approval");
  const seen = { ...(await trial.find(id)), status: "queued" as const, pending_approvals: [] };
  const { store: runs, ids, clock } = trial;
  expect(await cancelRun({ runs, ids, clock }, seen)).toMatchObject({ status: "cancelled" });
  const statuses = new Set((await approvalsOf(trial, id)).map(({ status }) => status));
  expect([...statuses]).toEqual(["closed"]);
  await verifyLog(trial, id);
});

test("agents.states.running_cancel a run that is found cancelled before a call is sent ends, though no signal comes", async () => {
  const receiver = createReceiver();
  const payer = pin([makeSender("write", receiver, { risk: "write" })], {
    unattended_writes: true,
  });
  const wrap = (store: RunStore): RunStore => ({
    ...store,
    intend: async () => ({ kind: "cancelled" }),
  });
  const trial = await open(script(call(["write", { n: 1 }])), { ...payer, wrap });
  const id = await trial.run();
  expect(await trial.ended(id)).toMatchObject({ status: "cancelled" });
  expect(receiver.arrivals).toEqual([]);
});
