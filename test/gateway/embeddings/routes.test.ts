// Tests the embeddings route alone: replies, log lines and rows for each outcome.
import { describe, expect, test } from "bun:test";
import type { EmbedRequest } from "../../../src/gateway/embeddings/contract.ts";
import type { UpstreamError } from "../../../src/models/index.ts";
import { readRefusal } from "../../http/test-server.ts";
import { type EmbedEnding, embedInputs, openFront, TRACE_ID } from "./front.ts";

const WHY = "a reason that no caller is told";
const fail = (code: UpstreamError["code"], more: Partial<UpstreamError> = {}): UpstreamError => ({
  ok: false,
  code,
  retryable: false,
  reason: WHY,
  ...more,
});

/** The headers of a refusal about retries. */
const readWaits = ({ headers }: Response) => [
  headers.get("x-should-retry"),
  headers.get("retry-after"),
];

/** An embedder that holds each request until a test ends it. */
function openHeld(lines = "") {
  const asked: EmbedRequest[] = [];
  const held: PromiseWithResolvers<EmbedEnding>[] = [];
  const signals: AbortSignal[] = [];
  const front = openFront((ask, signal) => {
    asked.push(ask);
    signals.push(signal);
    const one = Promise.withResolvers<EmbedEnding>();
    held.push(one);
    return one.promise;
  }, lines);
  /** Resolves when this number of requests has reached the embedder. */
  const reached = async (count: number) => {
    while (asked.length < count) await front.clock.advance(0);
  };
  return { ...front, asked, held, signals, reached };
}

test("an embedder receives the inputs, the account and the request id", async () => {
  const asked: EmbedRequest[] = [];
  const { ask } = openFront(async (one) => {
    asked.push(one);
    return embedInputs(one.inputs);
  });
  await ask({ input: "Hello" });
  await ask({ input: ["a", "half \ud83c of it"] }, "b");
  const trace = { traceparent: expect.stringContaining(TRACE_ID) };
  expect(asked).toEqual([
    { request_id: "of-a", trace, account: "a", inputs: ["Hello"] },
    // No server could encode half a surrogate pair.
    { request_id: "of-b", trace, account: "b", inputs: ["a", "half \ufffd of it"] },
  ]);
});

describe("gateway.endpoints.embeddings.p4 failures are mapped to error codes", () => {
  const spent = ["false", null];
  test.each<[string, UpstreamError, number, string, (string | null)[]]>([
    ["an error", fail("upstream_error", { upstreamStatus: 500 }), 502, "upstream_error", spent],
    ["silence", fail("upstream_timeout"), 504, "upstream_timeout", spent],
    [
      "an error with Retry-After",
      fail("upstream_error", { retryAfterMs: 9_000 }),
      502,
      "upstream_error",
      spent,
    ],
    ["no server", fail("model_offline"), 503, "service_unavailable", [null, null]],
    ["no server", fail("model_unavailable"), 503, "service_unavailable", [null, null]],
    [
      "a busy server",
      fail("upstream_rate_limited", { upstreamStatus: 429, retryAfterMs: 2_001 }),
      503,
      "service_unavailable",
      [null, "3"],
    ],
    [
      "a busy server without Retry-After",
      fail("upstream_rate_limited"),
      503,
      "service_unavailable",
      [null, null],
    ],
    [
      "a server that is back at once",
      fail("model_offline", { retryAfterMs: 0 }),
      503,
      "service_unavailable",
      [null, "1"],
    ],
  ])(
    "gateway.errors.upstream_error gateway.errors.service_unavailable gateway.errors.headers.x_should_retry gateway.errors.headers.retry_after of %s",
    async (_, failure, status, code, waits) => {
      const { ask, lines, entries } = openFront(async () => ({ ...failure, attempts: 1 }));
      const reply = await ask();
      expect(readWaits(reply)).toEqual(waits);
      const text = await reply.clone().text();
      expect(text).not.toContain(WHY);
      expect(text).toContain('"The embedding server ');
      expect(await readRefusal(reply)).toEqual([status, code, null]);
      expect(lines).toEqual([
        expect.objectContaining({
          level: "warn",
          message: "embedding server: a request failed",
          reason: WHY,
          request_id: "of-a",
          trace_id: TRACE_ID,
          account_id: "a",
          route: "POST /v1/embeddings",
          code: failure.code,
        }),
      ]);
      expect(lines[0]!.upstream_status).toBe(failure.upstreamStatus);
      expect(entries).toMatchObject([{ status, code, attempts: 1, prompt_tokens: null }]);
    },
  );

  test("gateway.errors.internal_error a bug is a 500 without retry advice", async () => {
    const { ask } = openFront(async () => {
      throw new Error("a bug");
    });
    const reply = await ask();
    expect(readWaits(reply)).toEqual([null, null]);
    expect(await readRefusal(reply)).toEqual([500, "internal_error", null]);
  });
});

test("a reply reports its timing: queue, server and total", async () => {
  const { ask, held, reached, clock } = openHeld("max_concurrent = 1");
  const first = ask();
  await reached(1);
  const second = ask();
  await clock.advance(300);
  held[0]!.resolve(embedInputs(["Hello"]));
  await reached(2);
  await clock.advance(40);
  held[1]!.resolve(embedInputs(["Hello"]));
  const readTiming = async (reply: Promise<Response>) => (await reply).headers.get("server-timing");
  expect(await readTiming(first)).toBe("wait;dur=0, upstream;dur=300, total;dur=300");
  expect(await readTiming(second)).toBe("wait;dur=300, upstream;dur=40, total;dur=340");
  const refused = await ask({});
  expect(refused.headers.has("server-timing")).toBe(false);
});

describe("gateway.limits.shared_capacity", () => {
  test("gateway.limits.shared_capacity gateway.errors.capacity_exceeded a request without a free slot is refused, although within its own quota", async () => {
    const { ask, held, reached, clock } = openHeld("max_concurrent = 1\nmax_queued = 1");
    const first = ask();
    await reached(1);
    const second = ask(undefined, "b");
    await clock.advance(0);
    const refused = await ask(undefined, "b");
    expect(readWaits(refused)).toEqual([null, "1"]);
    expect(await readRefusal(refused)).toEqual([429, "capacity_exceeded", null]);
    held[0]!.resolve(embedInputs(["Hello"]));
    expect((await first).status).toBe(200);
    await reached(2);
    held[1]!.resolve(embedInputs(["Hello"]));
    expect((await second).status).toBe(200);
  });

  test("gateway.limits.shared_capacity gateway.errors.capacity_exceeded a request that waits too long is refused with Retry-After", async () => {
    const { ask, held, reached, clock } = openHeld("max_concurrent = 1");
    const first = ask();
    await reached(1);
    await clock.advance(3_000);
    held[0]!.resolve(embedInputs(["Hello"]));
    await first;
    void ask();
    await reached(2);
    const late = ask(undefined, "b");
    await clock.advance(10_000);
    const reply = await late;
    // One has been running for ten seconds, although the last one took three.
    expect(readWaits(reply)).toEqual([null, "10"]);
    expect(await readRefusal(reply)).toEqual([429, "capacity_exceeded", null]);
  });
});

describe("the request log", () => {
  test("has a row with tokens, a cost of zero, and the times in queue and server", async () => {
    const { ask, held, reached, clock, entries } = openHeld("max_concurrent = 1");
    const first = ask();
    await reached(1);
    const second = ask(undefined, "b");
    await clock.advance(250);
    held[0]!.resolve(embedInputs(["Hello"]));
    await first;
    await reached(2);
    await clock.advance(40);
    held[1]!.resolve({ ...embedInputs(["Hello"]), waitedMs: 30 });
    await second;
    const row = {
      route: "embeddings",
      model: "bge-m3",
      status: 200,
      code: null,
      prompt_tokens: 7,
      completion_tokens: 0,
      usage_estimated: false,
      cost: null,
      attempts: 1,
      first_token_ms: null,
      in_flight: 1,
      in_flight_max: 1,
    };
    expect(entries).toMatchObject([
      { ...row, account_id: "a", waited_ms: 0, duration_ms: 250 },
      { ...row, account_id: "b", waited_ms: 280, duration_ms: 290 },
    ]);
    expect(entries[0]!.reply_bytes).toBeGreaterThan(50);
  });

  test("names the model that was asked for, or none", async () => {
    const { ask, entries } = openFront(async ({ inputs }) => embedInputs(inputs));
    for (const model of [undefined, "bge-m3"]) await ask({ input: "Hello", model });
    expect(entries.map(({ model_asked, model }) => [model_asked, model])).toEqual([
      [null, "bge-m3"],
      ["bge-m3", "bge-m3"],
    ]);
  });

  test("marks an estimated usage", async () => {
    const { ask, entries } = openFront(async ({ inputs }) => ({
      ...embedInputs(inputs),
      usageEstimated: true,
    }));
    await ask();
    expect(entries).toMatchObject([{ prompt_tokens: 7, usage_estimated: true }]);
  });

  test("has a row without a model for an invalid field, and with it for a refused slot", async () => {
    const { ask, entries } = openFront(
      async ({ inputs }) => embedInputs(inputs),
      "requests_per_minute = 1",
    );
    await ask({ input: "" });
    await ask();
    await ask();
    expect(entries).toMatchObject([
      { status: 400, code: "invalid_request", model: null },
      { status: 200 },
      { status: 429, code: "rate_limit_exceeded", model: "bge-m3" },
    ]);
  });
});

describe("gateway.errors.client_closed_request", () => {
  test("gateway.errors.client_closed_request a caller who leaves during the request is logged, and the embedder is aborted", async () => {
    const { ask, held, signals, reached, lines, entries } = openHeld();
    const leaving = new AbortController();
    const reply = ask(undefined, "a", leaving.signal);
    await reached(1);
    leaving.abort();
    expect(signals[0]!.aborted).toBeTrue();
    held[0]!.resolve(fail("client_closed_request", { reason: "the caller left" }));
    await reply;
    const said = { level: "info", message: "the caller left", status: 499 };
    expect(lines).toMatchObject([{ ...said, code: "client_closed_request", request_id: "of-a" }]);
    expect(entries).toMatchObject([{ status: 499, code: "client_closed_request" }]);
  });

  test("gateway.errors.client_closed_request a caller who leaves in the queue is logged too, and the embedder gets no request", async () => {
    const { ask, asked, reached, clock, lines, entries } = openHeld("max_concurrent = 1");
    void ask();
    await reached(1);
    const leaving = new AbortController();
    const reply = ask(undefined, "b", leaving.signal);
    await clock.advance(0);
    leaving.abort();
    await reply;
    expect(asked).toHaveLength(1);
    expect(lines).toMatchObject([
      { level: "info", code: "client_closed_request", status: 499, request_id: "of-b" },
    ]);
    expect(entries).toMatchObject([{ status: 499, account_id: "b" }]);
  });
});

test("gateway.errors.service_unavailable requests that wait at the end of a stop are refused, queued or not", async () => {
  const { ask, held, running, reached, clock, lines } = openHeld("max_concurrent = 1");
  const replies = [ask(), ask(undefined, "b")];
  await reached(1);
  await clock.advance(0);
  running.end();
  for (const reply of await Promise.all(replies)) {
    expect(readWaits(reply)).toEqual([null, null]);
    expect(await readRefusal(reply)).toEqual([503, "service_unavailable", null]);
  }
  const said = { level: "info", message: "the program stopped before the answer was whole" };
  expect(lines).toMatchObject([said, said]);
  // Its result reaches no caller.
  held[0]!.reject(new Error("too late"));
  await clock.advance(0);
  expect(lines).toHaveLength(2);
});

test("tokens and estimates cost the configured price, and without one the cost is unknown", async () => {
  const costs = async (lines: string, usage: object) => {
    const { ask, entries } = openFront(
      async ({ inputs }) => ({ ...embedInputs(inputs), ...usage }) as EmbedEnding,
      lines,
    );
    await ask();
    return entries.map(({ cost, prompt_tokens }) => [cost, prompt_tokens]);
  };
  expect(await costs('price = "0.10"', { prompt_tokens: 64_005 })).toEqual([[6_401, 64_005]]);
  expect(await costs('price = "0.10"', { usageEstimated: true })).toEqual([[1, 7]]);
  expect(await costs('price = "0"', {})).toEqual([[0, 7]]);
  expect(await costs("", {})).toEqual([[null, 7]]);
});
