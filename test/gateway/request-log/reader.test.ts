// Tests the search of the request log in ranges, and reads of what was added since.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { type Database, openDatabase } from "../../../src/database/index.ts";
import { type LogEntry, writeEntries } from "../../../src/gateway/request-log/entry.ts";
import { RequestLogReader } from "../../../src/gateway/request-log/reader.ts";
import { requestLogStore } from "../../../src/gateway/request-log/store/index.ts";
import { firstIdAt } from "../../../src/platform/ids.ts";
import { createManualClock } from "../../support/clock.ts";
import { placeInMemory } from "../../support/memory.ts";
import { makeEntry, NOON } from "../../support/request-log.ts";

let database: Database;
let reader: RequestLogReader;
beforeEach(async () => {
  database = await openDatabase({
    place: await placeInMemory(),
    stores: [requestLogStore],
    clock: createManualClock(),
    onFailure(failure) {
      throw failure;
    },
  });
  reader = new RequestLogReader(database);
});
afterEach(() => database.close());

const add = (entries: LogEntry[]) =>
  database.bind(requestLogStore).add(writeEntries(entries), false);
const idsOf = ({ entries }: { entries: LogEntry[] }) => entries.map(({ id }) => id);

/** Adds `count` entries a second apart from noon on; every thousandth is slow. */
const addMany = (count: number) =>
  add(
    Array.from({ length: count }, (_, n) => {
      const at = NOON + n * 1_000;
      return makeEntry(firstIdAt(at), { at, duration_ms: n % 1_000 === 0 ? 5_000 : 1 });
    }),
  );
const idAt = (seconds: number) => firstIdAt(NOON + seconds * 1_000);

test("a search goes on through ranges without a match", async () => {
  await addMany(6_500);
  const slow = { slowerThanMs: 1_000 };
  const page = await reader.list(slow, 3, null);
  expect(idsOf(page)).toEqual([idAt(6_000), idAt(5_000), idAt(4_000)]);
  expect(page.next).toBe(idAt(4_000));
  const rest = await reader.list(slow, 100, page.next);
  expect(idsOf(rest)).toEqual([idAt(3_000), idAt(2_000), idAt(1_000), idAt(0)]);
  expect(rest.next).toBeNull();
});

test("the pages of a log that is shorter than a range hold each entry once", async () => {
  await addMany(5);
  const first = await reader.list({}, 2, null);
  expect([idsOf(first), first.next]).toEqual([[idAt(4), idAt(3)], idAt(3)]);
  const second = await reader.list({}, 2, first.next);
  expect([idsOf(second), second.next]).toEqual([[idAt(2), idAt(1)], idAt(1)]);
  const third = await reader.list({}, 2, second.next);
  expect([idsOf(third), third.next]).toEqual([[idAt(0)], null]);
});

test("a search by time ends where everything older arrived before", async () => {
  await addMany(6_500);
  let reads = 0;
  const bound = database.bind(requestLogStore);
  const counted = {
    bind: () => ({
      ...bound,
      findOldest(...asked: Parameters<typeof bound.findOldest>) {
        reads += 1;
        return bound.findOldest(...asked);
      },
    }),
  } as unknown as Database;
  const since = NOON + 6_498_000;
  const page = await new RequestLogReader(counted).list({ since }, 100, null);
  expect([idsOf(page), page.next, reads]).toEqual([[idAt(6_499), idAt(6_498)], null, 1]);
});

test("a search by time also finds what is older but arrived in its first millisecond", async () => {
  // One more than a range holds.
  const count = 2_001;
  const entry = (n: number) => makeEntry(firstIdAt(NOON + n), { at: NOON, duration_ms: 0 });
  await add(Array.from({ length: count }, (_, n) => entry(n)));
  const { entries, next } = await reader.list({ since: NOON }, count + 1, null);
  expect([entries.length, next]).toEqual([count, null]);
});

test("an empty log has an empty page", async () => {
  expect(await reader.list({}, 5, null)).toEqual({ entries: [], next: null });
  expect(await reader.listLater({}, idAt(0), NOON)).toEqual({ entries: [], last: idAt(0) });
});

test("later entries come in their order, once they are a second old", async () => {
  await addMany(10);
  const now = NOON + 8_000;
  const later = await reader.listLater({}, idAt(3), now);
  expect(idsOf(later)).toEqual([idAt(4), idAt(5), idAt(6)]);
  expect(later.last).toBe(idAt(6));
});

test("reads of later entries go on behind those that do not match", async () => {
  await addMany(4_500);
  const filter = { slowerThanMs: 1_000 };
  const seen: string[] = [];
  const ends: string[] = [];
  for (let after = idAt(0); ; after = ends.at(-1)!) {
    const { entries, last } = await reader.listLater(filter, after, NOON + 10_000_000);
    if (last === after) break;
    seen.push(...entries.map(({ id }) => id));
    ends.push(last);
  }
  expect(seen).toEqual([1_000, 2_000, 3_000, 4_000].map(idAt));
  expect(ends).toEqual([idAt(2_000), idAt(4_000), idAt(4_499)]);
});

test("a search is left to its caller after 250 ranges of 2,000 entries, and one id shows 20 entries", async () => {
  const sizes: number[] = [];
  const findOldest = async (before: string | null, size: number) => {
    sizes.push(size);
    return { id: `${before ?? ""}.`, ended_at: NOON };
  };
  const find = async (_id: string, limit: number) => [limit];
  const store = { findOldest, find, list: async () => [] };
  const slow = new RequestLogReader({ bind: () => store } as never);
  const page = await slow.list({}, 9, null);
  expect(page).toEqual({ entries: [], next: ".".repeat(250) });
  expect([sizes.length, new Set(sizes)]).toEqual([250, new Set([2_000])]);
  expect(await slow.find("r-1")).toEqual([20] as never);
});
