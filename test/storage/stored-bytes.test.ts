// Tests the sums of bytes that deleted rows leave free.
import { expect, test } from "bun:test";
import { sumBy } from "../../src/storage/store.ts";

test("bytes of deleted rows are summed by their key, in one order", () => {
  const rows = [
    { id: "b", stored_bytes: 2 },
    { id: "a", stored_bytes: 1 },
    { id: "c", stored_bytes: 0 },
    { id: "b", stored_bytes: 3 },
  ];
  const sums: [string, number][] = [
    ["a", 1],
    ["b", 5],
  ];
  expect(sumBy(rows, ({ id }) => id)).toEqual(sums);
});
