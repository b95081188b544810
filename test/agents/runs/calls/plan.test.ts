// The stored form of a reply, and its calls that need approval.
import { describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { DEFAULT_POLICY, type VersionRow } from "../../../../src/agents/definitions/version.ts";
import { CallPlanner, readReply } from "../../../../src/agents/runs/calls/plan.ts";
import type { RunRow } from "../../../../src/agents/runs/run.ts";
import { RunEntry } from "../../../../src/agents/runs/run-entry.ts";
import { createArgumentsCheck } from "../../../../src/agents/tools/arguments.ts";
import type { BuiltinTool, Tool } from "../../../../src/agents/tools/contract.ts";
import { inlineCompute } from "../../../support/compute.ts";
import { createSeededIds } from "../../../support/ids.ts";
import { answer, call, makeRun } from "../trial.ts";

const ids = createSeededIds();
const post: BuiltinTool = {
  ...{ name: "post", title: "", description: "", risk: "write", revision: 1 },
  ...{ external_content: false, timeout_ms: 1, isFree: true, parameters: Type.Object({}) },
  run: async () => ({ outcome: "ok", content: "", external: false }),
};

function openPlanner(tool: Tool, kind: string, policy: object, fields: Partial<RunRow> = {}) {
  const version = {
    tools: ["post"],
    tool_revisions: [{ name: "post", revision: 1, kind, risk: "write" }],
    policy: { ...DEFAULT_POLICY, ...policy },
  } as unknown as VersionRow;
  return new CallPlanner({
    ids,
    state: { version, deniedCalls: new Set() },
    findTool: () => tool,
    checkArguments: createArgumentsCheck(inlineCompute),
    isRecorded: false,
    entry: new RunEntry(ids, makeRun("r-1", fields)),
  });
}

describe("a call that writes", () => {
  test("agents.does.risk.write: waits for a person once its run has read content from outside", async () => {
    const plan = async (external_content: boolean) => {
      const planner = openPlanner(
        post,
        "builtin",
        { unattended_writes: true },
        { external_content },
      );
      const { tool_calls } = readReply(call(["post", {}]), 0, ids);
      return (await planner.planCalls(tool_calls))[0]!;
    };
    expect(await plan(false)).toMatchObject({ decision: "auto", why: [], approval_id: null });
    expect(await plan(true)).toMatchObject({
      ...{ decision: "needs_approval", why: ["external_content"] },
      approval_id: expect.any(String),
    });
  });
});

test("32 calls of one reply are run, and later ones are told why they are not", async () => {
  const planner = openPlanner(post, "builtin", { unattended_writes: true });
  const calls = Array.from({ length: 33 }, () => ["post", {}] as const);
  const { tool_calls } = readReply(call(...calls), 0, ids);
  const planned = await planner.planCalls(tool_calls);
  expect(planned.map(({ tool_call_id }) => tool_call_id)).toEqual(
    tool_calls.slice(0, 32).map(({ id }) => id),
  );
});

test("checks each call with long arguments in its own turn of the event loop", async () => {
  const pattern = "[ab]*a[ab]{900}$";
  const parameters = { type: "object", properties: { text: { type: "string", pattern } } };
  const tool = { ...post, parameters } as Tool;
  const calls = Array.from({ length: 8 }, (_, n) => {
    return ["post", { text: "ab".repeat(3_000 + n) }] as const;
  });
  const planner = openPlanner(tool, "http", {});
  const { tool_calls } = readReply(call(...calls), 0, ids);
  let turns = 0;
  const count = () => {
    turns += 1;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  await planner.planCalls(tool_calls);
  clearImmediate(counting);
  expect(turns).toBeGreaterThanOrEqual(calls.length);
});

describe("a reply", () => {
  test("is bounded before it is stored", () => {
    const long = "x".repeat(2_000_000);
    const { tool_calls } = call(...Array.from({ length: 200 }, () => [long, long] as const));
    const read = readReply(answer({ content: long, finish_reason: long, tool_calls }), 0, ids);
    expect(read.content).toHaveLength(1_048_576);
    expect(read.finish_reason).toHaveLength(64);
    expect(read.tool_calls).toHaveLength(128);
    expect(read.tool_calls.every(({ name }) => name.length === 128)).toBe(true);
    const lengths = read.tool_calls.map(({ arguments: text }) => text.length);
    expect(lengths[0]).toBe(262_144);
    expect(Math.max(...lengths.slice(1))).toBe(0);
  });
});
