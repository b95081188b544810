// Tests the outcome of an attempt by the endpoint's response, and its effect on the delivery.
import { describe, expect, test } from "bun:test";
import type { GuardedOutcome } from "../../src/net/index.ts";
import {
  classifyResponse,
  decideResult,
  type EndpointResponse,
  RESPONSE_BYTES_MAX,
  skipAttempt,
} from "../../src/webhooks/response.ts";
import type { ClaimedDelivery } from "../../src/webhooks/store/claim.ts";
import { createManualClock } from "../support/clock.ts";

const clock = createManualClock();
const classify = (outcome: GuardedOutcome) => classifyResponse(outcome, clock) as EndpointResponse;

const reply = (
  status: number,
  headers: Record<string, string> = {},
  body: string | Uint8Array = "",
  truncated = false,
): GuardedOutcome => ({
  ...{ ok: true, url: "https://example.com/", status, headers: new Headers(headers), truncated },
  body: typeof body === "string" ? Buffer.from(body) : body,
});
type Code = Extract<GuardedOutcome, { ok: false }>["code"];
const failure = (code: Code, status: number | null = null): GuardedOutcome => ({
  ...{ ok: false, code, message: `It failed: ${code}.`, sent: true, status },
});

const LEAST_MS = 60_000;
const LIMITED = "The endpoint answered 429.";
const CASES: [
  what: string,
  outcome: GuardedOutcome,
  outcome: string,
  error: string | null,
  least: number,
][] = [
  ["200", reply(200), "delivered", null, 0],
  ["204", reply(204), "delivered", null, 0],
  ["299", reply(299), "delivered", null, 0],
  ["300", reply(300), "rejected", "The endpoint answered 300.", 0],
  ["304", reply(304), "rejected", "The endpoint answered 304.", 0],
  [
    "a redirect",
    reply(302, { location: "https://example.com/on" }),
    ...(["rejected", "The endpoint answered 302: redirects are not followed.", 0] as const),
  ],
  ["400", reply(400), "rejected", "The endpoint answered 400.", 0],
  ["410", reply(410), "rejected", "The endpoint answered 410.", 0],
  ["429", reply(429), "rejected", "The endpoint answered 429.", LEAST_MS],
  ["500", reply(500), "rejected", "The endpoint answered 500.", 0],
  ["502", reply(502), "rejected", "The endpoint answered 502.", LEAST_MS],
  ["503", reply(503), "rejected", "The endpoint answered 503.", 0],
  ["504", reply(504), "rejected", "The endpoint answered 504.", LEAST_MS],
  ["silence", failure("timeout"), "timeout", "It failed: timeout.", LEAST_MS],
  ["no connection", failure("refused"), "unreachable", "It failed: refused.", 0],
  ["a broken connection", failure("reset"), "unreachable", "It failed: reset.", 0],
  ["no such name", failure("dns"), "unreachable", "It failed: dns.", 0],
  ["no certificate", failure("tls"), "unreachable", "It failed: tls.", 0],
  ["no HTTP", failure("other"), "unreachable", "It failed: other.", 0],
  ["a place that is not public", failure("forbidden"), "unreachable", "It failed: forbidden.", 0],
  ["200 whose text broke off", failure("reset", 200), "delivered", null, 0],
  ["200 whose text never ends", failure("timeout", 200), "delivered", null, LEAST_MS],
  ["429 whose text broke off", failure("reset", 429), "rejected", LIMITED, LEAST_MS],
  ["500 whose text broke off", failure("reset", 500), "rejected", "The endpoint answered 500.", 0],
];

test.each(CASES)("%s", (_, attemptResult, outcome, error, leastWaitMs) => {
  const { status } = attemptResult;
  expect(classify(attemptResult)).toMatchObject({ outcome, error, leastWaitMs, status });
});

test("only 410 disables the endpoint", () => {
  expect(classify(reply(410)).isGone).toBe(true);
  expect(classify(failure("reset", 410)).isGone).toBe(true);
  for (const status of [200, 404, 409, 500]) expect(classify(reply(status)).isGone).toBe(false);
});

test("an attempt aborted on our side does not affect the endpoint's health", () => {
  expect(classifyResponse(failure("aborted"), clock)).toBe("aborted");
  expect(classifyResponse(failure("aborted", 200), clock)).toBe("aborted");
});

const AFTER: [value: string, waitMs: number][] = [
  ["120", 120_000],
  ["0", 1_000],
  [new Date(clock.now() + 90_000).toUTCString(), 90_000],
  [new Date(clock.now() - 90_000).toUTCString(), 1_000],
  ["99999999999999999999", 31 * 24 * 3_600_000],
  ["soon", 0],
];
test.each(AFTER)("Retry-After: %s", (value, retryAfterMs) => {
  expect(classify(reply(503, { "retry-after": value })).retryAfterMs).toBe(retryAfterMs);
});

describe("the text of a response", () => {
  const bodyOf = (body: string | Uint8Array, truncated = false) =>
    classify(reply(500, {}, body, truncated)).body;

  test("is stored unchanged, and null if there is none", () => {
    expect(bodyOf('{"error":"no ü 😀"}')).toBe('{"error":"no ü 😀"}');
    expect(bodyOf("")).toBeNull();
    expect(classify(failure("timeout")).body).toBeNull();
  });
  test("is cleaned for both databases", () => {
    expect(bodyOf("a\0b")).toBe("a\ufffdb");
    expect(bodyOf(Uint8Array.of(0x61, 0xff, 0xed, 0xa0, 0x80, 0x62))).toMatch(/^a\ufffd+b$/);
  });
  test("ends with a whole character if it was cut", () => {
    const cut = Buffer.from(`${"x".repeat(RESPONSE_BYTES_MAX - 2)}😀`).subarray(
      0,
      RESPONSE_BYTES_MAX,
    );
    expect(bodyOf(cut, true)).toBe("x".repeat(RESPONSE_BYTES_MAX - 2));
  });
  test("is whole up to 4,096 bytes, and cut characters at the end of a whole one are shown", () => {
    expect(RESPONSE_BYTES_MAX).toBe(4_096);
    expect(bodyOf("x".repeat(4_096))).toBe("x".repeat(4_096));
    expect(bodyOf(Buffer.from("a😀").subarray(0, 3))).toBe("a\ufffd");
    expect(bodyOf(Buffer.from("a😀").subarray(0, 3), true)).toBe("a");
  });
  test("has a maximum length, whatever its characters", () => {
    const text = bodyOf(new Uint8Array(RESPONSE_BYTES_MAX).fill(0xff), true)!;
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(RESPONSE_BYTES_MAX);
    expect(text).toMatch(/^\ufffd+$/);
  });
});

const claimed: ClaimedDelivery = {
  ...{ id: "d-1", webhook_id: "w-1", event_id: "e-1", account_id: "a-1" },
  ...{ kind: "scheduled", tries: 0, lane: 0, epoch: 3 },
};
const key = { deliveryId: "d-1", webhookId: "w-1", epoch: 3 };
const response: EndpointResponse = {
  ...{ outcome: "rejected", isGone: false, status: 500, body: "no", error: "It answered 500." },
  ...{ leastWaitMs: 0, retryAfterMs: 0 },
};
const decide = (fields: Partial<ClaimedDelivery> = {}, responded: Partial<EndpointResponse> = {}) =>
  decideResult(
    { ...claimed, ...fields },
    { ...response, ...responded },
    {
      ...{ url: "https://w-1.example.com/", updatedAt: 900, startedAt: 1_000, durationMs: 50 },
      ...{ now: 1_050, fraction: 0.5, signatures: 2 },
    },
  );

test("an attempt is stored with its response", () => {
  expect(decide()).toEqual({
    ...key,
    ...{ kind: "retry", url: "https://w-1.example.com/", updatedAt: 900 },
    nextAttemptAt: 1_050 + 5_000,
    attempt: {
      ...{ kind: "scheduled", started_at: 1_000, duration_ms: 50, response_status: 500 },
      ...{ response_body: "no", error: "It answered 500." },
      ...{ url: "https://w-1.example.com/", signatures: 2 },
    },
  });
});

const DELIVERED = { outcome: "delivered", error: null } as const;
const RESULTS: [
  what: string,
  Partial<ClaimedDelivery>,
  Partial<EndpointResponse>,
  kind: string,
  waitMs: number | null,
][] = [
  ["a success", {}, DELIVERED, "delivered", null],
  ["a success at the tenth attempt", { tries: 9 }, DELIVERED, "delivered", null],
  ["the ninth failure", { tries: 8 }, {}, "retry", 24 * 3_600_000],
  ["the tenth failure", { tries: 9 }, {}, "failed", null],
  ["a replay that fails", { kind: "replay" }, {}, "retry", 5_000],
  ["a test that fails", { kind: "test" }, {}, "failed", null],
  ["a successful test", { kind: "test" }, DELIVERED, "delivered", null],
  ["a 410", { tries: 9 }, { isGone: true }, "gone", 60_000],
  ["a 410 to a test", { kind: "test" }, { isGone: true }, "gone", 60_000],
];
test.each(RESULTS)("%s", (_, fields, responded, kind, waitMs) => {
  const result = decide(fields, responded);
  expect(result.kind).toBe(kind as never);
  const next = "nextAttemptAt" in result ? result.nextAttemptAt - 1_050 : null;
  expect(next).toBe(waitMs);
});

test("an attempt that did not happen is not stored", () => {
  expect(skipAttempt(claimed, "released")).toEqual({ ...key, kind: "released" });
  expect(skipAttempt(claimed, "expired")).toEqual({ ...key, kind: "expired" });
});
