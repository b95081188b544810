// What an attempt came to, by what the endpoint answered or did not.
import { describe, expect, test } from "bun:test";
import type { GuardedOutcome } from "../../src/platform/egress/index.ts";
import { judgeOutcome, RESPONSE_BYTES_MAX } from "../../src/webhooks/verdict.ts";
import { createManualClock } from "../support/clock.ts";

const clock = createManualClock();
const judge = (outcome: GuardedOutcome) => judgeOutcome(outcome, clock)!;

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
  ...{ ok: false, code, say: `It failed: ${code}.`, sent: true, status },
});

const LEAST_MS = 60_000;
const CASES: [
  what: string,
  outcome: GuardedOutcome,
  end: string,
  error: string | null,
  least: number,
][] = [
  ["200", reply(200), "delivered", null, 0],
  ["204", reply(204), "delivered", null, 0],
  ["299", reply(299), "delivered", null, 0],
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
  ["500 whose text broke off", failure("reset", 500), "rejected", "The endpoint answered 500.", 0],
];

test.each(CASES)("%s", (_, outcome, end, error, least_wait_ms) => {
  const status = outcome.status;
  expect(judge(outcome)).toMatchObject({ end, error, least_wait_ms, response_status: status });
});

test("only 410 says that it wants no more", () => {
  expect(judge(reply(410)).is_gone).toBe(true);
  expect(judge(failure("reset", 410)).is_gone).toBe(true);
  for (const status of [200, 404, 409, 500]) expect(judge(reply(status)).is_gone).toBe(false);
});

test("what was given up on our side says nothing of the endpoint", () => {
  expect(judgeOutcome(failure("aborted"), clock)).toBeNull();
  expect(judgeOutcome(failure("aborted", 200), clock)).toBeNull();
});

const AFTER: [value: string, wait_ms: number | null][] = [
  ["120", 120_000],
  ["0", 1_000],
  [new Date(clock.now() + 90_000).toUTCString(), 90_000],
  [new Date(clock.now() - 90_000).toUTCString(), 1_000],
  ["99999999999999999999", 31 * 24 * 3_600_000],
  ["soon", null],
];
test.each(AFTER)("Retry-After: %s", (value, retry_after_ms) => {
  expect(judge(reply(503, { "retry-after": value })).retry_after_ms).toBe(retry_after_ms);
});

describe("the text of an answer", () => {
  const bodyOf = (body: string | Uint8Array, truncated = false) =>
    judge(reply(500, {}, body, truncated)).response_body;

  test("is kept as it is, and null where there is none", () => {
    expect(bodyOf('{"error":"no ü 😀"}')).toBe('{"error":"no ü 😀"}');
    expect(bodyOf("")).toBeNull();
    expect(judge(failure("timeout")).response_body).toBeNull();
  });
  test("that neither database takes is made clean", () => {
    expect(bodyOf("a\0b")).toBe("a\ufffdb");
    expect(bodyOf(Uint8Array.of(0x61, 0xff, 0xed, 0xa0, 0x80, 0x62))).toMatch(/^a\ufffd+b$/);
  });
  test("ends with a whole character where it was cut", () => {
    const cut = Buffer.from(`${"x".repeat(RESPONSE_BYTES_MAX - 2)}😀`).subarray(
      0,
      RESPONSE_BYTES_MAX,
    );
    expect(bodyOf(cut, true)).toBe("x".repeat(RESPONSE_BYTES_MAX - 2));
  });
  test("is never longer than what is kept of it, whatever it is made of", () => {
    const text = bodyOf(new Uint8Array(RESPONSE_BYTES_MAX).fill(0xff), true)!;
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(RESPONSE_BYTES_MAX);
    expect(text).toMatch(/^\ufffd+$/);
  });
});
