// Which calls of unknown outcome are sent again, and what a denial tells the model.
import { expect, test } from "bun:test";
import { ANSWER_BEGIN } from "../../../../src/agents/approvals/approval.ts";
import type { FinishedCall } from "../../../../src/agents/runs/calls/invocation.ts";
import { makeResult } from "../../../../src/agents/runs/calls/open-calls.ts";
import { settleCalls, settleDenied } from "../../../../src/agents/runs/calls/settlement.ts";
import type { ToolCallData, ToolResultData } from "../../../../src/agents/runs/step.ts";
import { makeVersion } from "../../../store/agent-cases.ts";
import { createManualClock } from "../../../support/clock.ts";
import { createSeededIds } from "../../../support/ids.ts";
import { makeRun } from "../../../support/runs.ts";

const makeCall = (fields: Partial<ToolCallData> = {}): ToolCallData => ({
  ...{ tool_call_id: "c-1", name: "pay", revision: 1, risk: "write", arguments: {} },
  ...{ decision: "auto", why: [], approval_id: null, attempt: 1 },
  ...fields,
});

/** A run whose policy asks about unknown outcomes; its tool may be sent twice unless told. */
function open({ isIdempotent = true, hasHung = false } = {}) {
  const results: ToolResultData[] = [];
  const approvals: unknown[] = [];
  let writes = 0;
  const entry = {
    ...{ addStep() {}, countCall() {}, addEvent() {}, outputs: [], effects: [] },
    addResult: (result: ToolResultData) => void results.push(result),
    addApproval: (approval: unknown) => void approvals.push(approval),
  };
  const version = makeVersion("g-1");
  const policy = { ...version.policy, on_unknown_outcome: "ask" };
  const context = {
    deps: { clock: createManualClock(), ids: createSeededIds() },
    state: { row: makeRun("r-1"), version: { ...version, policy }, sources: [] },
    ...{ hasHung: () => hasHung, findTool: () => ({ sends: { isIdempotent } }) },
    ...{ newEntry: () => entry, write: async () => void writes++ },
  };
  const settle = async (call: ToolCallData, fields: Partial<FinishedCall> = {}) => {
    const result = makeResult(call, { outcome: "outcome_unknown", content: "" });
    const finished = [{ call, result, cost: 0, ...fields }];
    const repeated = await settleCalls(context as never, finished);
    return [repeated.length, approvals.length, results.length, writes];
  };
  const deny = async (call: ToolCallData, reason: string) => {
    const denied = { call, status: "denied", event: "rejected", approval: { reason } };
    await settleDenied(context as never, [denied] as never);
    return results[0]!;
  };
  return { settle, deny };
}

const REPEATED = [1, 0, 0, 0];
const ASKED = [0, 1, 0, 1];
const TOLD = [0, 0, 1, 1];

test("an idempotent write is sent three times by itself, and then a person is asked", async () => {
  expect(await open().settle(makeCall({ attempt: 2 }))).toEqual(REPEATED);
  expect(await open().settle(makeCall({ attempt: 3 }))).toEqual(ASKED);
});

test("no other call is sent again by itself", async () => {
  expect(await open({ isIdempotent: false }).settle(makeCall())).toEqual(ASKED);
  expect(await open().settle(makeCall({ risk: "irreversible" }))).toEqual(ASKED);
  expect(await open({ hasHung: true }).settle(makeCall())).toEqual(ASKED);
});

test("a call of a disabled tool is neither sent again nor asked about", async () => {
  expect(await open().settle(makeCall(), { isDisabled: true })).toEqual(TOLD);
});

test("an answer in place of a result is one only for a call that was not sent", async () => {
  const answer = `${ANSWER_BEGIN}Paid by hand.`;
  const unsent = await open().deny(makeCall({ attempt: 0 }), answer);
  expect(unsent).toMatchObject({ outcome: "rejected", content: answer });
  const { outcome, content } = await open().deny(makeCall(), answer);
  expect(outcome).toBe("outcome_unknown");
  expect(content).toStartWith("Nobody knows whether this call was done, and a person decided");
  expect(content).toEndWith(answer);
});
