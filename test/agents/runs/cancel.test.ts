// A cancel that was sent while the run was somewhere else.
import { afterEach, expect, test } from "bun:test";
import { cancelRun } from "../../../src/agents/runs/deps.ts";
import { verifyLog } from "./log.ts";
import { approvalsOf } from "./people.ts";
import { createProcesses } from "./processes.ts";
import { createReceiver, makeSender, pin } from "./senders.ts";
import { type CallRequest, call, script } from "./trial.ts";

const { open, closeAll } = createProcesses();
afterEach(closeAll);

test("agents.states.waiting_approval_cancel a run that was seen queued, and waits for many by then, is cancelled with all of them", async () => {
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
