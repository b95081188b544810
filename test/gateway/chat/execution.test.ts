// Tests what is logged and kept of a chat that ends without a whole reply.
import { expect, test } from "bun:test";
import {
  ChatExecution,
  type ChatExecutionOptions,
  type PreparedChat,
} from "../../../src/gateway/chat/execution.ts";
import { InFlight, REVOKED, STOPPED } from "../../../src/gateway/in-flight.ts";
import type { Complete, UpstreamError } from "../../../src/models/index.ts";
import { createLog } from "../../../src/platform/log.ts";
import { createAsk } from "../../support/ask.ts";
import { createManualClock } from "../../support/clock.ts";

const NEVER = new AbortController().signal;
const FAILED: UpstreamError = {
  ...{ ok: false, code: "upstream_error", reason: "it broke off", retryable: true },
};

function open(complete: Complete = async () => FAILED) {
  const clock = createManualClock();
  const lines: Record<string, unknown>[] = [];
  const contents: unknown[] = [];
  const execution = new ChatExecution({
    ...{ clock, running: new InFlight(), hashUser: (text: string) => `hash of ${text}` },
    log: createLog(clock, (line) => void lines.push(JSON.parse(line)), false),
  } as unknown as ChatExecutionOptions);
  const prepare = (account_id: string, user: string | null = null) =>
    ({
      ...{ complete, request: createAsk("Hello"), user, model: { settings: { id: "one" } } },
      caller: { account_id, key_id: "k-1" },
      recorder: {
        ...{ wantsContent: true, markAsked() {}, setResult() {} },
        setContent: (content: unknown) => void contents.push(content),
      },
    }) as unknown as PreparedChat;
  return { execution, prepare, lines, contents, clock };
}

test("nothing of a failed reply is kept, although a part of it had come", async () => {
  const { execution, prepare, contents } = open(async (_, onChunk) => {
    await onChunk({ kind: "text", text: "Hel" });
    return FAILED;
  });
  expect(await execution.completeWhole(prepare("a-1"), NEVER)).toEqual(FAILED);
  expect(contents).toEqual([{ input: createAsk("Hello").messages, output: null }]);
});

test("a whole reply tells the times of its first chunk and of its end", async () => {
  const { execution, prepare, clock } = open(async (_, onChunk) => {
    for (const text of ["Hel", "lo"]) {
      await clock.advance(200);
      await onChunk({ kind: "text", text });
    }
    await clock.advance(200);
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    return { ok: true, finishReason: "stop", usage };
  });
  expect(await execution.completeWhole(prepare("a-1"), NEVER)).toMatchObject({
    ...{ ok: true, firstChunkMs: 200, durationMs: 600, message: { content: "Hello" } },
  });
});

test.each([
  ["a stop", STOPPED, "info"],
  ["a revocation", REVOKED, "info"],
  ["a prompt that is too long", { ...FAILED, code: "context_length_exceeded" }, "info"],
  ["a caller who left", { ...FAILED, code: "client_closed_request" }, "info"],
  ["a failure of the model's server", FAILED, "warn"],
] as const)("a chat that ends by %s is logged at its level", (_, failure, level) => {
  const { execution, prepare, lines } = open();
  execution.logFailure(failure, prepare("a-1"));
  expect(lines).toMatchObject([{ level, code: failure.code, account_id: "a-1", model: "one" }]);
});

test("one user's name of two accounts is logged as two users", () => {
  const { execution, prepare, lines } = open();
  for (const account of ["a-1", "a-2"]) execution.logFailure(FAILED, prepare(account, "sara"));
  expect(lines.map(({ user }) => user)).toEqual(["hash of a-1 sara", "hash of a-2 sara"]);
});
