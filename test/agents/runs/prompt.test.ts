// The prompt of a round: what room it leaves to the thread.
import { expect, test } from "bun:test";
import { buildPrompt } from "../../../src/agents/runs/prompt.ts";
import type { RunRow } from "../../../src/agents/runs/run.ts";
import { restoreState } from "../../../src/agents/runs/state.ts";
import type { Message } from "../../../src/agents/threads/thread.ts";
import { createFence } from "../../../src/agents/tools/fence.ts";
import { makeVersion } from "../../store/agent-cases.ts";
import { BEGIN, makeRun } from "../../support/runs.ts";

const message = (seq: number, run_id: string): Message => ({
  ...{ id: `m-${seq}`, thread_id: "th-1", run_id, seq, role: "user", content: "What?" },
  ...{ tool_calls: null, parts: null, tool_call_id: null, external: false, created_at: BEGIN },
});

/** The prompt of a run without tools, whose replies may have this length. */
function build(max_tokens: number | null, limits: object, fields: Partial<RunRow> = {}) {
  const params = { temperature: null, top_p: null, max_tokens, reasoning: null };
  const log = {
    ...{ row: makeRun("r-2", { message_seq: 2, ...fields }), version: makeVersion("g-1") },
    ...{ messages: [message(1, "r-1"), message(2, "r-2")], steps: [] },
    ...{ summary: null, summarisedTo: null },
  };
  log.version.model_params = params;
  const find = () =>
    ({ id: "stub-1", context_window: 8_000, capabilities: [], ...limits }) as never;
  const state = restoreState(log, createFence("0123456789abcdef"));
  const deps = { internal: { chat: { find } } };
  return buildPrompt({ state, deps, findTool: () => undefined }, true);
}

/** Tokens that a thread may have beside a reply of this length. */
const roomOf = (max_tokens: number | null, limits: object) =>
  build(max_tokens, limits).view.roomTokens;

test("the fence is explained wherever the thread has content from outside, also without any tool", () => {
  const systemOf = (external_content: boolean) =>
    build(null, {}, { external_content })
      .request.messages.filter(({ role }) => role === "system")
      .map(({ content }) => String(content));
  const { rule } = createFence("0123456789abcdef");
  expect(systemOf(true).join()).toContain(rule);
  expect(systemOf(false).join()).not.toContain(rule);
});

test("room is kept for the longest reply: the version's, else the model's, and never above its maximum", () => {
  const room = roomOf(null, {});
  const model = { default_max_tokens: 500, max_output_tokens: 700 };
  expect(roomOf(null, model)).toBe(room - 500);
  expect(roomOf(300, model)).toBe(room - 300);
  expect(roomOf(900, model)).toBe(room - 700);
  expect(roomOf(900, {})).toBe(room - 900);
});
