// Tests the sums of entries by day.
import { expect, test } from "bun:test";
import { sumByDay } from "../../../src/gateway/request-log/store.ts";
import { makeEntry, NOON, REFUSED } from "../../support/request-log.ts";

test("usage is summed by day, key and model, whatever the outcome of the requests", () => {
  const left = { status: 499, code: "client_closed_request", usage_estimated: true, cost: null };
  const sums = sumByDay([
    makeEntry("1"),
    makeEntry("2", { prompt_tokens: 1, completion_tokens: 2, cost: 3 }),
    makeEntry("3", left),
    makeEntry("4", { status: 201, code: "upstream_error", ...NOTHING }),
  ]);
  expect(sums).toEqual([
    {
      ...{ day: "2026-11-20", account_id: "a-1", key_id: "k-1", model: "stub-1", route: "chat" },
      // A broken stream is a failure, though its status was a success.
      ...{ requests: 4, failed: 2, prompt_tokens: 21, completion_tokens: 12 },
      // A request without usage is not unpriced.
      ...{ cost: 23, unpriced: 1 },
    },
  ]);
});
const NOTHING = { prompt_tokens: null, completion_tokens: null, cost: null };

test("a missing account and model are empty, and a missing cost is null", () => {
  expect(sumByDay([makeEntry("1", REFUSED)])).toEqual([
    {
      ...{ day: "2026-11-20", account_id: "", key_id: "k-2", model: "", route: "chat" },
      ...{ requests: 1, failed: 1, prompt_tokens: 0, completion_tokens: 0 },
      ...{ cost: null, unpriced: 0 },
    },
  ]);
});

test("a day begins and ends at midnight in UTC, by the arrival of requests", () => {
  const midnight = NOON + 12 * 3_600_000;
  const sums = sumByDay([
    makeEntry("1", { at: midnight - 1 }),
    makeEntry("2", { at: midnight }),
    makeEntry("3", { at: midnight, model: "other" }),
    makeEntry("4", { at: midnight, key_id: "k-9" }),
  ]);
  expect(sums.map(({ day, key_id, model }) => [day, key_id, model])).toEqual([
    ["2026-11-20", "k-1", "stub-1"],
    ["2026-11-21", "k-1", "stub-1"],
    ["2026-11-21", "k-1", "other"],
    ["2026-11-21", "k-9", "stub-1"],
  ]);
});
