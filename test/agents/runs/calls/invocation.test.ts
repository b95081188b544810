// The last check before a call is sent, and bugs of tools.
import { expect, test } from "bun:test";
import { limitOutput, runCall } from "../../../../src/agents/runs/calls/invocation.ts";
import { RunContext } from "../../../../src/agents/runs/run-context.ts";
import type { ToolCallData } from "../../../../src/agents/runs/step.ts";
import type { Tool } from "../../../../src/agents/tools/contract.ts";
import { UNWATCHED } from "../../../../src/cluster/index.ts";
import { createManualClock } from "../../../support/clock.ts";
import { createSeededIds } from "../../../support/ids.ts";
import { caller } from "../../tools/use.ts";
import { createReceiver, makeSender } from "../senders.ts";

function openCall(tool: Tool, fields: Partial<ToolCallData>) {
  const lines: unknown[] = [];
  const log = { error: (...line: unknown[]) => void lines.push(line) };
  const process = { fence: { pass: async () => true } };
  const own = { clock: createManualClock(), ids: createSeededIds() };
  const deps = { ...own, log, activity: UNWATCHED, process };
  const row = { id: "r-1", epoch: 1, worked_ms: 0, cost: { prices: { tools: {} } } };
  const state = { row, version: { tools: [] }, shown: { characters: 0, truncated: 0 } };
  const toolset = { find: () => tool };
  const context = new RunContext({ deps, state, toolset } as never);
  const call: ToolCallData = {
    ...{ tool_call_id: "call_1", name: tool.name, revision: 1, risk: "read", arguments: {} },
    ...{ decision: "auto", why: [], approval_id: null, attempt: 0 },
    ...fields,
  };
  return {
    lines,
    run: () => runCall(context, call, caller, { signal: new AbortController().signal }),
  };
}

test("does not send a call without a stored intent, though its tool is found", async () => {
  const receiver = createReceiver();
  const tool = makeSender("pay", receiver, { risk: "write" });
  const run = (attempt: number) => openCall(tool, { risk: "write", attempt }).run();
  expect((await run(0)).result.outcome).toBe("disabled");
  expect(receiver.arrivals).toEqual([]);
  expect((await run(1)).result.outcome).toBe("ok");
  expect(receiver.arrivals).toHaveLength(1);
});

test("a tool that returns no result fails only its own call", async () => {
  const tool = { name: "look", timeout_ms: 1_000, run: async () => ({ outcome: "ok" }) };
  const { lines, run } = openCall(tool as unknown as Tool, {});
  const { result } = await run();
  expect(result).toMatchObject({ outcome: "error", content: "The tool failed on our side." });
  expect(lines).toMatchObject([["runs: a tool failed", { run_id: "r-1", tool: "look" }]]);
});

test("the log of a tool that failed tells nothing of what the tool was given", async () => {
  const tool = { name: "look", timeout_ms: 1_000, run: async () => ({ outcome: "ok" }) };
  const { lines, run } = openCall(tool as unknown as Tool, { arguments: { to: "zqargument" } });
  await run();
  expect(lines).toHaveLength(1);
  expect(JSON.stringify(lines)).not.toContain("zqargument");
});

test("results are shown wide up to 16 million characters, and 64 of a run are kept whole", () => {
  const limit = (characters: number, truncated: number) => {
    const state = { shown: { characters, truncated }, version: { tools: ["read_output"] } };
    return limitOutput({ state } as never, { tool_call_id: "call_1" } as never);
  };
  const [most, none] = [
    ...[
      { isWide: true, keepsWhole: true },
      { isWide: false, keepsWhole: false },
    ],
  ];
  expect(limit(16_777_215, 63)).toEqual(["call_1", most!]);
  expect(limit(16_777_216, 64)).toEqual(["call_1", none!]);
});
