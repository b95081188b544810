// Tests what an operator sees of requests under way: those of the limit's own period.
import { expect, test } from "bun:test";
import type { Database } from "../../../src/database/index.ts";
import { createLimitReader } from "../../../src/gateway/budgets/limit-reader.ts";
import type { ReservationRow } from "../../../src/gateway/budgets/store.ts";

const MIDNIGHT = Date.UTC(2026, 10, 20);
const DAY_MS = 86_400_000;

test("a reservation counts for its accounts and keys, in the period in which it was made", async () => {
  const reserve = (at: number, tokens: number, subjects = ["account a-1", "key k-1"]) =>
    ({ id: `r-${at}`, at, subjects, tokens, cost: 2 * tokens }) satisfies ReservationRow;
  const store = {
    sum: async () => ({ requests: 3, estimated: 1, tokens: 50, cost: 60 }),
    listReservations: async () => [
      reserve(MIDNIGHT - 1, 1),
      reserve(MIDNIGHT, 10),
      reserve(MIDNIGHT + DAY_MS - 1, 100),
      reserve(MIDNIGHT + DAY_MS, 1_000),
      reserve(MIDNIGHT, 10_000, ["account a-2", "key k-2"]),
    ],
  };
  const database = { bind: () => store } as unknown as Database;
  const reader = createLimitReader(database, "UTC");
  const limits = { requests_day: 9, tokens_day: 900, cost_day: 1_000 };
  const rows = await reader.list("account", "a-1", limits, MIDNIGHT + 3_600_000);
  expect(rows.map(({ name, used, reserved }) => [name, used, reserved])).toEqual([
    ["requests_day", 3, 2],
    ["tokens_day", 50, 110],
    ["cost_day", "0.000060", "0.000220"],
  ]);
  expect(rows.map((row) => row.estimated_requests)).toEqual([1, 1, 1]);
});
