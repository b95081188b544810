// Tests what the headers x-ratelimit-… say of the limits of a key and its account.
import { expect, test } from "bun:test";
import type { Limits } from "../../../src/access/index.ts";
import type { PeriodUse } from "../../../src/gateway/budgets/amounts.ts";
import { makeSubject } from "../../../src/gateway/budgets/excess.ts";
import { writeLimitHeaders } from "../../../src/gateway/budgets/headers.ts";

const NOW = Date.UTC(2026, 10, 20, 12);

/** Use of an account whose day ends in `leftMs`. */
function show(limits: Limits, used: number, reserved: number, leftMs = 61_000) {
  const amounts = (tokens: number) => ({ requests: 1, tokens, cost: 0 });
  const use: PeriodUse = {
    ...{ start: 0, end: NOW + leftMs, announced: new Set() },
    ...{ used: { ...amounts(used), estimated: 0 }, reserved: amounts(reserved) },
  };
  const uses = { minute: use, day: use, month: use };
  return writeLimitHeaders([{ subject: makeSubject("account", "a-1", limits), uses }], NOW);
}

test("what is left is what was neither used nor reserved, and never negative", () => {
  const left = (used: number, reserved: number) =>
    show({ tokens_day: 100 }, used, reserved)["x-ratelimit-remaining-tokens"];
  expect([left(0, 0), left(30, 0), left(30, 20), left(90, 20)]).toEqual(["100", "70", "50", "0"]);
});

test.each([
  [1, "1s"],
  [59_001, "1m0s"],
  [61_000, "1m1s"],
  [3_600_000, "1h0m0s"],
  [90_000_500, "25h0m1s"],
])("a period that ends in %d ms is reset in %s", (leftMs, written) => {
  expect(show({ requests_day: 3 }, 0, 0, leftMs)).toEqual({
    "x-ratelimit-limit-requests": "3",
    "x-ratelimit-remaining-requests": "1",
    "x-ratelimit-reset-requests": written,
  });
});

test("limits of money have no headers", () => {
  expect(show({ cost_day: 1 }, 0, 0)).toEqual({});
});

test("of limits with equally much left the one of the shorter period is shown", () => {
  const shown = show({ tokens_minute: 30, tokens_day: 40 }, 50, 0);
  expect(shown["x-ratelimit-limit-tokens"]).toBe("30");
});
