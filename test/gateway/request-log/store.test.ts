// Tests the sums of entries by half hours.
import { expect, test } from "bun:test";
import { SLOT_MS, sumEntries } from "../../../src/gateway/request-log/store/usage-sums.ts";
import { makeEntry, makeSum, NOON, REFUSED } from "../../support/request-log.ts";

const HALF_HOUR = NOON / SLOT_MS;
const NOTHING = { prompt_tokens: null, completion_tokens: null, cost: null };

test("usage is summed by half hour, key and model, whatever the outcome of the requests", () => {
  const left = { status: 499, code: "client_closed_request", usage_estimated: true, cost: null };
  const sums = sumEntries([
    makeEntry("1"),
    makeEntry("2", { prompt_tokens: 1, completion_tokens: 2, cost: 3 }),
    makeEntry("3", left),
    makeEntry("4", { status: 201, code: "upstream_error", ...NOTHING }),
    makeEntry("5", { cost: null }),
  ]);
  expect(sums).toEqual([
    makeSum(HALF_HOUR, {
      // A broken stream is a failure, though its status was a success; a caller who left is none.
      ...{ requests: 5, failed: 1, callers_left: 1, prompt_tokens: 31, completion_tokens: 17 },
      ...{ estimated: 1, estimated_prompt_tokens: 10, estimated_completion_tokens: 5 },
      // A request without usage is not unpriced; of two that are, one is an estimate.
      ...{ cost: 23, unpriced: 2, unpriced_estimated: 1 },
    }),
  ]);
});

test("the cost of estimates is told apart", () => {
  expect(sumEntries([makeEntry("1", { usage_estimated: true })])).toEqual([
    makeSum(HALF_HOUR, {
      ...{ estimated: 1, estimated_prompt_tokens: 10, estimated_completion_tokens: 5 },
      estimated_cost: 20,
    }),
  ]);
});

test("a missing account and model are empty, and a missing cost is null", () => {
  expect(sumEntries([makeEntry("1", REFUSED)])).toEqual([
    makeSum(HALF_HOUR, {
      ...{ account_id: "", key_id: "k-2", model: "", failed: 1, cost: null },
      ...{ prompt_tokens: 0, completion_tokens: 0 },
    }),
  ]);
});

test("half hours, models, keys, agents and versions are apart, by the arrival of requests", () => {
  const agent = { agent_id: "g-1", agent_version: 2 };
  const entries = [
    makeEntry("1", { at: NOON + SLOT_MS - 1 }),
    makeEntry("2", { at: NOON + SLOT_MS }),
    makeEntry("3", { at: NOON + SLOT_MS, model: "other" }),
    makeEntry("4", { at: NOON + SLOT_MS, key_id: "k-9" }),
    makeEntry("5", { ...agent }),
    makeEntry("6", { ...agent, agent_version: 3 }),
    makeEntry("7", { ...agent, agent_version: 3 }),
  ];
  const sums = sumEntries(entries);
  // Writes of several processes lock the sums in one order, whatever came first.
  expect(sumEntries(entries.toReversed())).toEqual(sums);
  const sort = (unsorted: readonly object[]) =>
    unsorted.map((sum) => JSON.stringify(sum, Object.keys(sum).sort())).sort();
  const expected = [
    makeSum(HALF_HOUR),
    makeSum(HALF_HOUR + 1),
    makeSum(HALF_HOUR + 1, { model: "other" }),
    makeSum(HALF_HOUR + 1, { key_id: "k-9" }),
    makeSum(HALF_HOUR, agent),
    makeSum(HALF_HOUR, {
      ...{ agent_id: "g-1", agent_version: 3, requests: 2, cost: 40 },
      ...{ prompt_tokens: 20, completion_tokens: 10 },
    }),
  ];
  expect(sort(sums)).toEqual(sort(expected));
});
