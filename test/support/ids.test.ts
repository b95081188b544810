import { expect, test } from "bun:test";
import { createSeededIds } from "./ids.ts";

test("the same seed makes the same ids, another seed makes other ids", () => {
  const make = (seed: number) => {
    const ids = createSeededIds(seed);
    return [ids.uuid(), ids.token(24), ids.uuid(), ids.token(24)];
  };
  expect(make(7)).toEqual(make(7));
  expect(new Set([...make(7), ...make(8)]).size).toBe(8);
});

test("UUIDs are of version 7 and ascend, tokens are base62 of the requested length", () => {
  const ids = createSeededIds();
  const uuids = Array.from({ length: 500 }, () => ids.uuid());
  for (const uuid of uuids) {
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
  expect(uuids.toSorted()).toEqual(uuids);
  const tokens = Array.from({ length: 500 }, () => ids.token(24));
  for (const token of tokens) expect(token).toMatch(/^[0-9A-Za-z]{24}$/);
  expect(new Set([...uuids, ...tokens]).size).toBe(1_000);
});
