// What becomes of a delivery by what an attempt at it came to.
import { expect, test } from "bun:test";
import { settleAttempt, settleUntried } from "../../src/webhooks/outcome.ts";
import type { Claimed } from "../../src/webhooks/store/claim.ts";
import type { Verdict } from "../../src/webhooks/verdict.ts";

const claimed: Claimed = {
  ...{ id: "d-1", webhook_id: "w-1", event_id: "e-1", account_id: "a-1" },
  ...{ kind: "scheduled", tries: 0, lane: 0, epoch: 3 },
};
const about = { delivery_id: "d-1", webhook_id: "w-1", epoch: 3 };
const verdict = (fields: Partial<Verdict> = {}): Verdict => ({
  ...{ end: "rejected", is_gone: false, response_status: 500, response_body: "no" },
  ...{ error: "It answered 500.", least_wait_ms: 0, retry_after_ms: null },
  ...fields,
});
const settle = (fields: Partial<Claimed> = {}, judged: Partial<Verdict> = {}) =>
  settleAttempt({ ...claimed, ...fields }, verdict(judged), {
    ...{ url: "https://w-1.example.com/", updated_at: 900, started_at: 1_000, duration_ms: 50 },
    ...{ now: 1_050, fraction: 0.5 },
  });

test("an attempt is kept with what was answered", () => {
  expect(settle()).toEqual({
    ...about,
    ...{ came_to: "retry", url: "https://w-1.example.com/", updated_at: 900 },
    next_attempt_at: 1_050 + 5_000,
    attempt: {
      ...{ kind: "scheduled", started_at: 1_000, duration_ms: 50, response_status: 500 },
      ...{ response_body: "no", error: "It answered 500." },
    },
  });
});

const CASES: [
  what: string,
  Partial<Claimed>,
  Partial<Verdict>,
  came_to: string,
  wait_ms: number | null,
][] = [
  ["what was taken", {}, { error: null }, "delivered", null],
  ["the tenth that was taken", { tries: 9 }, { error: null }, "delivered", null],
  ["the ninth failure", { tries: 8 }, {}, "retry", 24 * 3_600_000],
  ["the tenth failure", { tries: 9 }, {}, "failed", null],
  ["a replay that fails", { kind: "replay" }, {}, "retry", 5_000],
  ["a test that fails", { kind: "test" }, {}, "failed", null],
  ["a test that was taken", { kind: "test" }, { error: null }, "delivered", null],
  ["what is not wanted any more", { tries: 9 }, { is_gone: true }, "gone", 60_000],
  ["a test that is not wanted any more", { kind: "test" }, { is_gone: true }, "gone", 60_000],
];
test.each(CASES)("%s", (_, fields, judged, came_to, wait_ms) => {
  const settled = settle(fields, judged);
  expect(settled.came_to).toBe(came_to as never);
  const next = "next_attempt_at" in settled ? settled.next_attempt_at - 1_050 : null;
  expect(next).toBe(wait_ms);
});

test("nothing is noted of what was not tried", () => {
  expect(settleUntried(claimed, "released")).toEqual({ ...about, came_to: "released" });
  expect(settleUntried(claimed, "expired")).toEqual({ ...about, came_to: "expired" });
});
