// Tests a stream to one caller: slow readers, departing callers, and bugs.
import { describe, expect, test } from "bun:test";
import type { Caller } from "../../../src/access/index.ts";
import type { AdmittedChat } from "../../../src/gateway/chat/admit.ts";
import { createChatWriter, createChunkWriter } from "../../../src/gateway/chat/chunks.ts";
import { writeStream } from "../../../src/gateway/chat/stream.ts";
import { InFlight } from "../../../src/gateway/in-flight.ts";
import type { LogEntry } from "../../../src/gateway/request-log/entry.ts";
import { GatewayRecorder } from "../../../src/gateway/request-log/recorder.ts";
import { openEventStream } from "../../../src/http/index.ts";
import type { Complete, Completion, UpstreamError } from "../../../src/models/index.ts";
import { apiError } from "../../../src/platform/errors.ts";
import { createAsk } from "../../support/ask.ts";
import { createManualClock } from "../../support/clock.ts";

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const DONE: Completion = { ok: true, finishReason: "stop", usage: USAGE };

const KEY = { account_id: null, key_id: "key-1" } as Caller;

function open(answer: Complete, take = (_: Omit<LogEntry, "id">) => {}, running = new InFlight()) {
  const clock = createManualClock();
  const caller = new AbortController();
  const stream = openEventStream(caller.signal, (bug) => void bugs.push(bug));
  let revoke = () => {};
  const watched = new Set<string>();
  const failures: UpstreamError[] = [];
  const bugs: unknown[] = [];
  const entries: Omit<LogEntry, "id">[] = [];
  const keep = (entry: Omit<LogEntry, "id">) => {
    entries.push(entry);
    take(entry);
  };
  const recorder = new GatewayRecorder(
    { route: "chat", drawId: () => "e-1", clock, take: keep },
    { caller: KEY, request_id: "request-1", trace: null, started_at: clock.monotonic() },
  );
  const admitted = {
    request: createAsk("Hello"),
    complete: answer,
    recorder: recorder,
    caller: KEY,
    model: { settings: { context_window: 100 } },
  } as AdmittedChat;
  const begun = writeStream(stream, admitted, {
    writer: createChatWriter(createChunkWriter("id", 7, "svc"), false),
    clock,
    running,
    keys: {
      add: (key_id, end) => {
        revoke = end;
        watched.add(key_id);
        return () => void watched.delete(key_id);
      },
    },
    status: 201,
    onFailure: (failure) => void failures.push(failure),
    onBug: (bug) => void bugs.push(bug),
  });
  const body = stream.answer(201, {});
  return {
    clock,
    caller,
    running,
    revoke: () => revoke(),
    watched,
    begun,
    failures,
    bugs,
    entries,
    body,
    stream,
  };
}

describe("a caller who does not read", () => {
  test("holds the model server back, and loses nothing", async () => {
    const piece = { kind: "text", text: "x".repeat(1_000) } as const;
    let sent = 0;
    const { clock, begun, body, entries } = open(async (_ask, onChunk) => {
      for (; sent < 1_000; sent++) await onChunk(piece);
      return DONE;
    });
    expect(await begun).toBeNull();
    for (let turn = 0; turn < 10; turn++) await clock.advance(0);
    const told_unread = sent;
    expect(told_unread).toBeGreaterThan(10);
    expect(told_unread).toBeLessThan(200);
    const text = await body.text();
    expect(sent).toBe(1_000);
    expect(text.split("data: ").length - 1).toBe(1_002);
    expect(text).toEndWith("data: [DONE]\n\n");
    expect(clock.pending()).toBe(0);
    // Every byte that the caller received is counted.
    expect(entries).toMatchObject([
      { status: 201, code: null, reply_bytes: Buffer.byteLength(text) },
    ]);
  });

  test("and then leaves ends the completion", async () => {
    const left = Promise.withResolvers<Completion>();
    const { begun, body, clock, entries } = open(async (_ask, onChunk, signal) => {
      signal.addEventListener("abort", () =>
        left.resolve({
          ok: false,
          code: "client_closed_request",
          retryable: false,
          reason: "left",
        }),
      );
      for (let n = 0; n < 1_000 && !signal.aborted; n++) {
        await onChunk({ kind: "text", text: "x".repeat(1_000) });
      }
      return left.promise;
    });
    await begun;
    await body.body!.cancel();
    expect(await left.promise).toMatchObject({ code: "client_closed_request" });
    await clock.advance(60_000);
    expect(clock.pending()).toBe(0);
    expect(entries).toMatchObject([{ status: 499, code: "client_closed_request" }]);
  });
});

test("the time until the last chunk is the model's, and not the gateway's own", async () => {
  const opened = open(async (_ask, onChunk) => {
    await Promise.resolve();
    await opened.clock.advance(300);
    await onChunk({ kind: "text", text: "a" });
    await opened.clock.advance(200);
    return DONE;
  });
  await opened.body.text();
  const [entry] = opened.entries;
  expect(entry).toMatchObject({ first_token_ms: 300, duration_ms: 500, gateway_us: 0 });
});

describe("a thrown bug", () => {
  const bug = new Error("a bug");
  test("before the first output is answered by the router", async () => {
    const { begun, bugs, clock, entries } = open(() => Promise.reject(bug));
    await expect(begun).rejects.toBe(bug);
    expect([bugs, entries, clock.pending()]).toEqual([[], [], 0]);
  });

  test("after the first output is logged, and is an error in the stream", async () => {
    const { begun, bugs, body, entries } = open(async (_ask, onChunk) => {
      await onChunk({ kind: "text", text: "a" });
      throw bug;
    });
    expect(await begun).toBeNull();
    const [, error, done] = (await body.text()).split("\n\n");
    expect(JSON.parse(error!.slice(6))).toMatchObject({ error: { code: "upstream_error" } });
    expect(done).toBe("data: [DONE]");
    expect(bugs).toEqual([bug]);
    expect(entries).toMatchObject([{ status: 201, code: "upstream_error", prompt_tokens: null }]);
  });

  test("thrown synchronously before the first output is answered by the router", async () => {
    const { begun, bugs, clock } = open(() => {
      throw bug;
    });
    await expect(begun).rejects.toBe(bug);
    expect([bugs, clock.pending()]).toEqual([[], 0]);
  });

  test("at the end of the stream is logged, and ends the stream", async () => {
    const fail = () => {
      throw bug;
    };
    const { begun, bugs, body, clock } = open(async (_ask, onChunk) => {
      await onChunk({ kind: "text", text: "a" });
      return DONE;
    }, fail);
    expect(await begun).toBeNull();
    expect(await body.text()).toEndWith("data: [DONE]\n\n");
    expect(bugs).toEqual([bug]);
    expect(clock.pending()).toBe(0);
  });

  test("in a keep-alive is logged, and ends the stream", async () => {
    const left = Promise.withResolvers<Completion>();
    const { begun, bugs, clock, stream } = open(async () => left.promise);
    stream.pass = () => {
      throw bug;
    };
    await clock.advance(15_000);
    expect(await begun).toBeNull();
    expect(bugs).toEqual([bug]);
    expect(clock.pending()).toBe(0);
  });

  test("an internal refusal before the first output passes unchanged", async () => {
    const refusal = apiError("rate_limit_exceeded", { headers: { "retry-after": "1" } });
    const { begun } = open(() => Promise.reject(refusal));
    await expect(begun).rejects.toBe(refusal);
  });

  test("gateway.events.4 an internal refusal after the first output is a model failure and no bug", async () => {
    const { begun, bugs, failures, body } = open(async (_ask, onChunk) => {
      await onChunk({ kind: "text", text: "a" });
      throw apiError("rate_limit_exceeded");
    });
    expect(await begun).toBeNull();
    const [, error, done] = (await body.text()).split("\n\n");
    expect(JSON.parse(error!.slice(6))).toMatchObject({ error: { code: "upstream_error" } });
    expect(done).toBe("data: [DONE]");
    const why = "it refused with rate_limit_exceeded";
    expect(failures).toEqual([
      { ok: false, code: "upstream_error", retryable: false, reason: why },
    ]);
    expect(bugs).toEqual([]);
  });
});

test("an error within a stream is explained in its row, which has what was sent before it", async () => {
  const { begun, entries, body } = open(async (_ask, onChunk) => {
    await onChunk({ kind: "text", text: "a" });
    const code = "context_length_exceeded";
    return { ok: false, code, retryable: false, reason: "it is too long for it" };
  });
  expect(await begun).toBeNull();
  const text = await body.text();
  expect(entries).toMatchObject([
    {
      ...{ status: 201, code: "context_length_exceeded", param: "messages" },
      ...{ reason: expect.stringContaining("maximum context length is 100 tokens") },
      reply_bytes: Buffer.byteLength(text),
    },
  ]);
});

test("the row of a stream that breaks off has its prompt, by an estimate", async () => {
  const late = { ok: false, code: "upstream_timeout", retryable: false, reason: "late" } as const;
  const { begun, entries, body } = open(async (_ask, onChunk) => {
    await onChunk({ kind: "text", text: "a" });
    return { ...late, attempts: 1 };
  });
  await begun;
  await body.text();
  expect(entries).toMatchObject([{ completion_tokens: 0, usage_estimated: true }]);
  expect(entries[0]!.prompt_tokens).toBeGreaterThan(0);
});

test("a stream that ends for two reasons reports the first", async () => {
  const left = Promise.withResolvers<Completion>();
  const { begun, running, revoke, failures, body } = open(async (_ask, onChunk) => {
    await onChunk({ kind: "text", text: "a" });
    return left.promise;
  });
  await begun;
  running.end();
  revoke();
  left.resolve({ ok: false, code: "client_closed_request", retryable: false, reason: "left" });
  await body.text();
  expect(failures).toMatchObject([{ endedBy: "stop" }]);
});

test("an answer that is whole when the program stops stays whole", async () => {
  const last = Promise.withResolvers<Completion>();
  const { begun, running, failures, entries, body } = open(async (_ask, onChunk) => {
    await onChunk({ kind: "text", text: "a" });
    return last.promise;
  });
  await begun;
  running.end();
  last.resolve(DONE);
  await body.text();
  expect(failures).toEqual([]);
  expect(entries).toMatchObject([{ code: null, finish_reason: "stop", usage_estimated: false }]);
});

test("a stream that begins after the stop of the program is aborted before its model is asked", async () => {
  const stopped = new InFlight();
  stopped.end();
  const wereAborted: boolean[] = [];
  const answer: Complete = async (_ask, _onChunk, signal) => {
    wereAborted.push(signal.aborted);
    return { ok: false, code: "client_closed_request", retryable: false, reason: "left" };
  };
  const { begun } = open(answer, undefined, stopped);
  expect(await begun).toMatchObject({ endedBy: "stop" });
  expect(wereAborted).toEqual([true]);
});

test("neither a stop nor a revocation is awaited for a stream that has ended", async () => {
  for (const end of [DONE, new Error("a bug")]) {
    const { begun, body, running, watched, stream } = open(async (_ask, onChunk) => {
      await onChunk({ kind: "text", text: "a" });
      expect([...watched]).toEqual([KEY.key_id]);
      if (end instanceof Error) throw end;
      return end;
    });
    await begun;
    await body.text();
    expect([...watched]).toEqual([]);
    running.end();
    expect(stream.left.aborted).toBe(false);
  }
});
