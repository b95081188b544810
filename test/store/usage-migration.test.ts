// Tests that daily sums of an earlier release stay, as sums at noon of their day.
import { expect, test } from "bun:test";
import { type DatabaseLocation, openDatabase, sql, store } from "../../src/database/index.ts";
import { migrations } from "../../src/database/migrations/index.ts";
import { UsageReader } from "../../src/gateway/request-log/usage.ts";
import { stores } from "../../src/stores.ts";
import { createManualClock } from "../support/clock.ts";
import { openFiles } from "../support/database.ts";
import { openPostgres } from "../support/pglite.ts";
import { makeSum, readRequestLog } from "../support/request-log.ts";

const SLOTS_A_DAY = 48;
const DAY_MS = 86_400_000;
const DAYS = ["1999-12-31", "2000-02-29", "2026-01-01", "2026-11-20", "2100-03-01"];
/** Number of the migration that replaces the daily sums. */
const REPLACES = 16;

const daySums = store(
  "day-sums",
  {},
  {
    add: async (tx, day: string) =>
      void (await tx.run(
        sql`INSERT INTO ledger_days
            VALUES (${day}, 'a-1', 'k-1', 'stub-1', 'chat', 1, 0, 10, 5, 20, 0)`,
      )),
  },
);

const open = (place: DatabaseLocation, more = {}) =>
  openDatabase({
    ...{ place, stores: [...stores, daySums], clock: createManualClock(), ...more },
    onFailure(failure) {
      throw failure;
    },
  });

test.each([
  ["SQLite", openFiles],
  ["PostgreSQL", openPostgres],
])(
  "%s: each day is found again, in every zone near it",
  async (_, openGround) => {
    const ground = await openGround();
    const place = await ground.makePlace();
    const before = migrations.filter(({ number }) => number < REPLACES);
    const first = await open(place, { migrations: before });
    for (const day of DAYS) await first.bind(daySums).add(day);
    await first.close();
    const second = await open(place);
    expect(await readRequestLog(second).sums()).toEqual(
      DAYS.map((day) => makeSum((Date.parse(day) / DAY_MS) * SLOTS_A_DAY + SLOTS_A_DAY / 2)),
    );
    const range = { from: "2026-01-01", to: "2026-11-20" };
    for (const zone of ["UTC", "Asia/Riyadh", "America/Los_Angeles"]) {
      const sums = await new UsageReader(second).sum({ by: ["day"], zone, filter: {}, ...range });
      expect(sums.map(({ day, requests }) => [day, requests])).toEqual([
        ["2026-01-01", 1],
        ["2026-11-20", 1],
      ]);
    }
    await second.close();
    await ground.release();
  },
  60_000,
);
