// The state of a run as it is restored from its log.
import { expect, test } from "bun:test";
import { restoreState } from "../../../src/agents/runs/state.ts";
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
