// Tests the recorder with impossible lengths and with hostile texts.
import { expect, test } from "bun:test";
import type { Caller } from "../../../src/access/index.ts";
import { recordInternal, toInternalFailure } from "../../../src/gateway/internal-request.ts";
import type { LogEntry } from "../../../src/gateway/request-log/entry.ts";
import { GatewayRecorder } from "../../../src/gateway/request-log/recorder.ts";
import { sumTokens } from "../../../src/models/index.ts";
import { apiError } from "../../../src/platform/errors.ts";
import { createManualClock } from "../../support/clock.ts";

function open() {
  const clock = createManualClock();
  const entries: LogEntry[] = [];
  const admitted: boolean[] = [];
  const take = (entry: LogEntry, isAdmitted: boolean) => {
    entries.push(entry);
    admitted.push(isAdmitted);
  };
  const caller = { account_id: null, key_id: "key-1" } as Caller;
  const recorder = new GatewayRecorder(
    { route: "chat", drawId: () => "e-1", clock, take },
    { caller, request_id: "request-1", trace: null, started_at: clock.monotonic() },
  );
  return { recorder, entries, admitted, clock };
}

test("an announced length is bounded, so that its sums stay exact", () => {
  const { recorder, entries } = open();
  recorder.request_bytes = 1e300;
  recorder.close(413, "request_too_large", 0);
  expect(entries).toMatchObject([{ request_bytes: 1e12 }]);
});

test("the gateway's own time is what lies before the question and behind the answer", async () => {
  const { recorder, entries, clock } = open();
  await clock.advance(2);
  recorder.markAsked();
  await clock.advance(500);
  recorder.setResult({ ok: true, waitedMs: 100, inFlight: 32, inFlightMax: 32 });
  await clock.advance(1);
  recorder.close(201, null, 0);
  expect(entries).toMatchObject([
    { gateway_us: 3_000, duration_ms: 503, waited_ms: 100, in_flight: 32, in_flight_max: 32 },
  ]);
});

test("the time of the first chunk is that of no later one", async () => {
  const { recorder, entries, clock } = open();
  await clock.advance(2);
  recorder.markFirstChunk();
  await clock.advance(5);
  recorder.markFirstChunk();
  recorder.close(201, null, 0);
  expect(entries).toMatchObject([{ first_token_ms: 2, duration_ms: 7 }]);
});

test("without a question or an answer no time is told apart", () => {
  const [refused, left] = [open(), open()];
  refused.recorder.close(404, "model_not_found", 0);
  left.recorder.markAsked();
  left.recorder.close(499, "client_closed_request", 0);
  const unknown = { gateway_us: null, in_flight: null, in_flight_max: null };
  expect([...refused.entries, ...left.entries]).toMatchObject([unknown, unknown]);
});

test("a huge `max_tokens` is recorded as a number that every database takes", () => {
  const { recorder, entries } = open();
  recorder.setOutputCap(2 ** 53, { max_tokens: 8_192, by: "service" });
  recorder.close(201, null, 0);
  expect(entries).toMatchObject([{ max_tokens_asked: 1e9, max_tokens: 8_192 }]);
});

test.each([
  [1e9, 1e9, true],
  [1e9 + 1, 1, false],
  [1, 1e9 + 1, false],
])("a reported usage of %d and %d tokens is recorded: %p", (prompt, completion, isRecorded) => {
  const { recorder, entries } = open();
  const tokens = { prompt_tokens: prompt, completion_tokens: completion };
  recorder.setResult({ ok: true, finishReason: "stop", usage: sumTokens(prompt, completion) });
  recorder.close(201, null, 0);
  const unknown = { prompt_tokens: null, completion_tokens: null };
  expect(entries).toMatchObject([isRecorded ? tokens : unknown]);
});

test.each([
  [1e12, 1e12],
  [1e12 + 1, null],
])("a cost of %d micro-SAR is recorded as %p: more is an error in the settings", (price, cost) => {
  const { recorder, entries } = open();
  recorder.setModel({ id: "m-1", price: { prompt: price, completion: 0 } });
  recorder.setResult({ ok: true, finishReason: "stop", usage: sumTokens(1e6, 0) });
  recorder.close(201, null, 0);
  expect(entries).toMatchObject([{ prompt_tokens: 1e6, cost }]);
});

test("texts from outside are short, well formed, and hold no NUL", () => {
  const { recorder, entries } = open();
  const hostile = `a\0${"\ud83d".repeat(400)}`;
  recorder.asked_model = hostile;
  recorder.explain(apiError("validation", { param: hostile, message: hostile }));
  recorder.setResult({ ok: true, finishReason: hostile, replica: hostile });
  recorder.close(400, "invalid_request", 0);
  const { model_asked, param, reason, finish_reason, replica } = entries[0]!;
  const texts = [model_asked, param, reason, finish_reason, replica] as string[];
  expect(texts.map((text) => text.isWellFormed() && !text.includes("\0"))).toEqual(
    texts.map(() => true),
  );
  expect(texts.map((text) => text.length)).toEqual([128, 128, 300, 128, 128]);
});

test("a reason is that of the server, unless the refusal has counted the tokens", () => {
  const server = { ok: false, retryable: false, reason: "it broke" } as const;
  const codes = ["upstream_error", "context_length_exceeded"] as const;
  const reasons = codes.map((code) => {
    const { recorder, entries } = open();
    recorder.setResult({ ...server, code });
    recorder.explain(apiError(code, { message: "It needs 5 tokens." }));
    recorder.close(502, code, 0);
    return entries[0]!.reason;
  });
  expect(reasons).toEqual(["it broke", "It needs 5 tokens."]);
});

test("a sentence of the catalogue is not repeated, and a success has no reason", () => {
  const refused = open();
  refused.recorder.explain(apiError("model_not_found", { param: "model" }));
  refused.recorder.close(404, "model_not_found", 0);
  expect(refused.entries).toMatchObject([{ reason: null, param: "model" }]);
  const { recorder, entries } = open();
  recorder.setResult({ ok: true, finishReason: "stop" });
  recorder.close(201, null, 0);
  expect(entries).toMatchObject([{ reason: null, param: null, finish_reason: "stop" }]);
});

test("an internal request that is refused has its reason in its row, which counts as admitted", async () => {
  const reason = "it asks for too much";
  const refused = { ok: false, code: "permission_denied", reason } as const;
  const ends = [
    async () => refused,
    () => Promise.reject(apiError("permission_denied", { message: reason })),
  ];
  for (const end of ends) {
    const { recorder, entries, admitted } = open();
    expect(await recordInternal(recorder, 201, end, () => {})).toEqual(refused);
    expect(entries).toMatchObject([{ status: 403, code: "permission_denied", reason }]);
    // Others are counted against a maximum of rows for refusals.
    expect(admitted).toEqual([true]);
  }
});

test("a bug of an internal request is thrown, logged and recorded as an internal error", async () => {
  const bug = new Error("a bug");
  const bugs: unknown[] = [];
  const { recorder, entries } = open();
  const run = () => Promise.reject(bug);
  await expect(recordInternal(recorder, 201, run, (one) => bugs.push(one))).rejects.toBe(bug);
  expect(bugs).toEqual([bug]);
  expect(entries).toMatchObject([{ status: 500, code: "internal_error" }]);
});

test("an internal failure tells its pause, whether it is final, and if a stop ended it", () => {
  const tell = (headers: Record<string, string>) => {
    const failure = toInternalFailure(apiError("rate_limit_exceeded", { headers }));
    return [failure.code, failure.retry_after_ms, failure.isFinal];
  };
  const code = "rate_limit_exceeded";
  expect(tell({})).toEqual([code, undefined, undefined]);
  expect(tell({ "retry-after": "7", "x-should-retry": "true" })).toEqual([code, 7_000, undefined]);
  expect(tell({ "x-should-retry": "false" })).toEqual([code, undefined, true]);
  const error = apiError("upstream_error");
  expect(toInternalFailure(error, "stop")).toMatchObject({ isStopped: true });
  expect(toInternalFailure(error, "revocation")).not.toHaveProperty("isStopped");
});
