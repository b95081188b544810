// The last look at a call before it leaves: what changes something outside has been written down.
import { expect, test } from "bun:test";
import { runCall } from "../../../src/agents/runs/calls/invocation.ts";
import type { RunContext } from "../../../src/agents/runs/run-context.ts";
import type { ToolCallData } from "../../../src/agents/runs/step.ts";
import { UNWATCHED } from "../../../src/cluster/watchdog/index.ts";
import { createManualClock } from "../../support/clock.ts";
import { createSeededIds } from "../../support/ids.ts";
import { caller } from "../tools/use.ts";
import { createReceiver, makeSender } from "./senders.ts";

test("a call of which nothing says that it will be sent is not sent, though its tool is found", async () => {
  const receiver = createReceiver();
  const tool = makeSender("pay", receiver, { risk: "write" });
  const row = { id: "r-1", cost: { prices: { tools: {} } } };
  const state = { row, version: { tools: [] }, told: { characters: 0, wholes: 0 } };
  const deps = {
    clock: createManualClock(),
    ids: createSeededIds(),
    log: console,
    activity: UNWATCHED,
  };
  const work = { deps, state, findTool: () => tool } as unknown as RunContext;
  const call: ToolCallData = {
    ...{ tool_call_id: "call_1", name: "pay", revision: 1, risk: "write", arguments: {} },
    ...{ decision: "auto", why: [], approval_id: null, attempt: 0 },
  };
  const run = (attempt: number) =>
    runCall(work, { ...call, attempt }, caller, new AbortController().signal);
  expect((await run(0)).result.outcome).toBe("disabled");
  expect(receiver.arrivals).toEqual([]);
  expect((await run(1)).result.outcome).toBe("ok");
  expect(receiver.arrivals).toHaveLength(1);
});

test("a tool whose result is none is an error of its call, and of nothing else", async () => {
  const lines: unknown[] = [];
  const log = { error: (...line: unknown[]) => void lines.push(line) };
  const row = { id: "r-1", cost: { prices: { tools: {} } } };
  const state = { row, version: { tools: [] }, told: { characters: 0, wholes: 0 } };
  const deps = { clock: createManualClock(), ids: createSeededIds(), log, activity: UNWATCHED };
  const tool = { name: "look", timeout_ms: 1_000, run: async () => ({ outcome: "ok" }) };
  const work = { deps, state, findTool: () => tool } as unknown as RunContext;
  const call: ToolCallData = {
    ...{ tool_call_id: "call_1", name: "look", revision: 1, risk: "read", arguments: {} },
    ...{ decision: "auto", why: [], approval_id: null, attempt: 0 },
  };
  const { result } = await runCall(work, call, caller, new AbortController().signal);
  expect(result).toMatchObject({ outcome: "error", content: "The tool failed on our side." });
  expect(lines).toMatchObject([["a tool failed", { run_id: "r-1", tool: "look" }]]);
});
