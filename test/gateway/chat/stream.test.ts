// A stream to one caller: slow readers, callers who leave, and bugs.
import { describe, expect, test } from "bun:test";
import type { Admitted } from "../../../src/gateway/chat/admit.ts";
import { createChunkWriter } from "../../../src/gateway/chat/chunks.ts";
import { createRunning } from "../../../src/gateway/chat/running.ts";
import { writeStream } from "../../../src/gateway/chat/stream.ts";
import { openEventStream } from "../../../src/http/index.ts";
import type { Answer, Ending, Failure } from "../../../src/models/index.ts";
import { refuse } from "../../../src/platform/refusal.ts";
import { createAsk } from "../../support/ask.ts";
import { createManualClock } from "../../support/clock.ts";

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const DONE: Ending = { ok: true, finish_reason: "stop", usage: USAGE };

function open(answer: Answer) {
  const clock = createManualClock();
  const running = createRunning();
  const caller = new AbortController();
  const stream = openEventStream(caller.signal);
  const failures: Failure[] = [];
  const bugs: unknown[] = [];
  const begun = writeStream(stream, { ask: createAsk("Hello"), answer } as Admitted, {
    chunks: createChunkWriter("id", 7, "svc"),
    has_usage: false,
    clock,
    running,
    onFailure: (failure) => void failures.push(failure),
    onBug: (bug) => void bugs.push(bug),
  });
  return { clock, caller, running, begun, failures, bugs, body: stream.answer(201, {}) };
}

describe("a caller who does not read", () => {
  test("holds the model server back, and loses nothing", async () => {
    const piece = { kind: "text", text: "x".repeat(1_000) } as const;
    let told = 0;
    const { clock, begun, body } = open(async (_ask, ear) => {
      for (; told < 1_000; told++) await ear(piece);
      return DONE;
    });
    expect(await begun).toBeNull();
    for (let turn = 0; turn < 10; turn++) await clock.advance(0);
    const told_unread = told;
    expect(told_unread).toBeGreaterThan(10);
    expect(told_unread).toBeLessThan(200);
    const text = await body.text();
    expect(told).toBe(1_000);
    expect(text.split("data: ").length - 1).toBe(1_002);
    expect(text).toEndWith("data: [DONE]\n\n");
    expect(clock.pending()).toBe(0);
  });

  test("and then leaves ends the answer", async () => {
    const left = Promise.withResolvers<Ending>();
    const { begun, body, clock } = open(async (_ask, ear, signal) => {
      signal.addEventListener("abort", () =>
        left.resolve({ ok: false, code: "client_closed_request", elsewhere: false, why: "left" }),
      );
      for (let n = 0; n < 1_000 && !signal.aborted; n++) {
        await ear({ kind: "text", text: "x".repeat(1_000) });
      }
      return left.promise;
    });
    await begun;
    await body.body!.cancel();
    expect(await left.promise).toMatchObject({ code: "client_closed_request" });
    await clock.advance(60_000);
    expect(clock.pending()).toBe(0);
  });
});

describe("what a bug throws", () => {
  const bug = new Error("a bug");
  test("before anything was sent is the door's to answer", async () => {
    const { begun, bugs, clock } = open(() => Promise.reject(bug));
    await expect(begun).rejects.toBe(bug);
    expect([bugs, clock.pending()]).toEqual([[], 0]);
  });

  test("later is told to the log, and as an error in the stream", async () => {
    const { begun, bugs, body } = open(async (_ask, ear) => {
      await ear({ kind: "text", text: "a" });
      throw bug;
    });
    expect(await begun).toBeNull();
    const [, error, done] = (await body.text()).split("\n\n");
    expect(JSON.parse(error!.slice(6))).toMatchObject({ error: { code: "upstream_error" } });
    expect(done).toBe("data: [DONE]");
    expect(bugs).toEqual([bug]);
  });

  test("a refusal from within, before anything was sent, goes on as it is", async () => {
    const refusal = refuse("rate_limit_exceeded", { headers: { "retry-after": "1" } });
    const { begun } = open(() => Promise.reject(refusal));
    await expect(begun).rejects.toBe(refusal);
  });

  test("gateway.events.4 a refusal from within, later, is a failure of the model and no bug", async () => {
    const { begun, bugs, failures, body } = open(async (_ask, ear) => {
      await ear({ kind: "text", text: "a" });
      throw refuse("rate_limit_exceeded");
    });
    expect(await begun).toBeNull();
    const [, error, done] = (await body.text()).split("\n\n");
    expect(JSON.parse(error!.slice(6))).toMatchObject({ error: { code: "upstream_error" } });
    expect(done).toBe("data: [DONE]");
    const why = "it refused with rate_limit_exceeded";
    expect(failures).toEqual([{ ok: false, code: "upstream_error", elsewhere: false, why }]);
    expect(bugs).toEqual([]);
  });
});
