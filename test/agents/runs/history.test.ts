// How much of a thread a rerun copies.
import { expect, test } from "bun:test";
import { loadHistory } from "../../../src/agents/runs/store/log.ts";

/** Copies a thread with a thousand messages of this length before the run. */
async function copy(length: number) {
  let last = 1_001;
  const found = [{ seq: last, external: false }];
  const db = {
    one: async () => found.pop(),
    all: async () =>
      Array.from({ length: 100 }, () => {
        return { seq: --last, content: "x".repeat(length), tool_calls: null };
      }),
  };
  const history = await loadHistory(db as never, { id: "r-1", thread_id: "t-1" });
  const messages = history!.messages;
  return [messages.length, messages[0]!.seq, messages.at(-1)!.seq];
}

test("a rerun copies the last 500 messages, and the last million characters", async () => {
  expect(await copy(1)).toEqual([500, 1, 500]);
  expect(await copy(4_096)).toEqual([256, 1, 256]);
  expect(await copy(4_095)).toEqual([257, 1, 257]);
});
