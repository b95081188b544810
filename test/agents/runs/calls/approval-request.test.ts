// The approval that a call requests.
import { expect, test } from "bun:test";
import { makeApproval } from "../../../../src/agents/runs/calls/approval-request.ts";
import type { ContentSource } from "../../../../src/agents/runs/state.ts";
import type { ToolCallData } from "../../../../src/agents/runs/step.ts";
import { makeVersion } from "../../../store/agent-cases.ts";
import { createManualClock } from "../../../support/clock.ts";
import { makeRun } from "../../../support/runs.ts";

const call: ToolCallData = {
  ...{ tool_call_id: "c-1", name: "pay", revision: 1, risk: "irreversible", arguments: {} },
  ...{ decision: "needs_approval", why: [], approval_id: "p-1", attempt: 0 },
};

test("shows addresses of sources up to 8,192 characters together, and each source", () => {
  const lengths = [8_000, 192, null, 1, 0];
  const sources = lengths.map((length, at): ContentSource => {
    const url = length === null ? null : "x".repeat(length);
    return { seq: at + 1, tool: "read_page", tool_call_id: `c-${at}`, url };
  });
  const state = { row: makeRun("r-1"), version: makeVersion("g-1"), sources };
  const context = { deps: { clock: createManualClock() }, state };
  const { external_sources } = makeApproval(context as never, call);
  const shown = external_sources.map(({ url }) => url?.length ?? null);
  expect(shown).toEqual([8_000, 192, null, null, null]);
});
