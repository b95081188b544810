// The state of a run as it is restored from its log.
import { expect, test } from "bun:test";
import { applyStep, restoreState } from "../../../src/agents/runs/state.ts";
import type { Message } from "../../../src/agents/threads/thread.ts";
import { createFence } from "../../../src/agents/tools/fence.ts";
import { makeVersion } from "../../store/agent-cases.ts";
import { BEGIN, makeRun } from "../../support/runs.ts";

const message = (seq: number, role: Message["role"], run_id = "r-0"): Message => ({
  ...{ id: `m-${seq}`, thread_id: "th-1", run_id, seq, role, content: `${role} ${seq}` },
  ...{ tool_calls: null, parts: null, tool_call_id: role === "tool" ? `c-${seq}` : null },
  ...{ external: false, created_at: BEGIN },
});

test.each([0, 1, 2])("%i results whose call was not read are left out", (orphans) => {
  const results = Array.from({ length: orphans }, (_, at) => message(5 + at, "tool"));
  const answer = message(5 + orphans, "assistant");
  const question = message(6 + orphans, "user", "r-1");
  const log = {
    ...{ row: makeRun("r-1", { message_seq: question.seq }), version: makeVersion("g-1") },
    ...{ messages: [...results, answer, question], steps: [], summary: null, summarisedTo: null },
  };
  const { messages, firstSeq, runFrom } = restoreState(log, createFence("0123456789abcdef"));
  expect(messages.map(({ content }) => content)).toEqual([answer.content, question.content]);
  expect([firstSeq, runFrom]).toEqual([answer.seq, 1]);
});

test("a summarised question is shown again, and no number of a message behind it shifts", () => {
  const answers = [message(8, "assistant", "r-1"), message(9, "tool", "r-1")];
  const log = {
    ...{ row: makeRun("r-1", { message_seq: 9 }), version: makeVersion("g-1") },
    ...{ messages: answers, steps: [], summary: "They spoke.", summarisedTo: 7 },
  };
  const state = restoreState(log, createFence("0123456789abcdef"));
  const { input } = log.row;
  expect(state.messages.map(({ content }) => content)).toEqual([
    input.message,
    ...answers.map(({ content }) => content),
  ]);
  expect(state.summary).toEqual({ text: "They spoke.", until: 1 });
  const seqs = state.messages.map((_, at) => state.firstSeq + at);
  expect(seqs.slice(1)).toEqual([8, 9]);
});

test("of a run's results from outside the first 100 are its sources", () => {
  const log = {
    ...{ row: makeRun("r-1"), version: makeVersion("g-1"), messages: [], steps: [] },
    ...{ summary: null, summarisedTo: null },
  };
  const state = restoreState(log, createFence("0123456789abcdef"));
  for (let seq = 1; seq <= 102; seq += 1) {
    const result = { tool_call_id: `c-${seq}`, name: "web_search", outcome: "ok", external: true };
    const data = { ...result, content: "x", truncated: seq % 2 === 0 } as never;
    applyStep(state, { seq, kind: "tool_result", data });
  }
  expect(state.sources.map(({ seq }) => seq)).toEqual(
    Array.from({ length: 100 }, (_, at) => at + 1),
  );
  expect(state.shown).toEqual({ characters: 102, truncated: 51 });
});
