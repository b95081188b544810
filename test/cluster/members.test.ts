// Tests how work is divided among live processes.
import { describe, expect, test } from "bun:test";
import { Members, type SeenProcess } from "../../src/cluster/members.ts";

const KEYS = Array.from({ length: 300 }, (_, n) => `endpoint-${n}`);

const proven = (...epochs: number[]): SeenProcess[] =>
  epochs.map((epoch) => ({ epoch, takesWork: true }));

/** A process that has looked often enough to own work. */
function settled(own: number, ...others: number[]): Members {
  const members = new Members(false);
  for (let look = 0; look < 3; look++) members.see(own, proven(...others));
  return members;
}

const ownersOf = (members: readonly Members[], key: string) =>
  members.filter((one) => one.owns(key)).length;

describe("live processes", () => {
  test("own each piece of work alone, and in about equal parts", () => {
    const all = [settled(4, 5, 9), settled(5, 4, 9), settled(9, 4, 5)];
    expect(KEYS.map((key) => ownersOf(all, key))).toEqual(KEYS.map(() => 1));
    for (const one of all) expect(KEYS.filter((key) => one.owns(key)).length).toBeGreaterThan(60);
  });

  test("take over the work of a dead one only, and leave each other theirs", () => {
    const [before, after] = [settled(4, 5, 9), settled(4, 5)];
    const kept = KEYS.filter((key) => before.owns(key));
    expect(kept.every((key) => after.owns(key))).toBe(true);
  });
});

describe("a new process", () => {
  test("owns everything at once where no other one is there", () => {
    const members = new Members(false);
    members.see(1, []);
    expect(KEYS.every((key) => members.owns(key))).toBe(true);
  });

  test("owns nothing at its first two looks, when others may not know it yet", () => {
    const members = new Members(false);
    for (let look = 1; look <= 2; look++) {
      members.see(2, proven(1));
      expect(KEYS.some((key) => members.owns(key))).toBe(false);
    }
    members.see(2, proven(1));
    expect(KEYS.some((key) => members.owns(key))).toBe(true);
  });

  test("leaves no work to one that has not beaten since: it died before", () => {
    const members = new Members(false);
    const silent = [{ epoch: 1, takesWork: false }];
    for (let look = 1; look <= 3; look++) members.see(2, silent);
    expect(KEYS.every((key) => members.owns(key))).toBe(true);
  });

  test("leaves its work to the others once it is drained", () => {
    const [drained, other] = [settled(1, 2), settled(2, 1)];
    drained.see(1, proven(2), false);
    other.see(2, [{ epoch: 1, takesWork: false }]);
    expect(KEYS.map((key) => [drained.owns(key), other.owns(key)])).toEqual(
      KEYS.map(() => [false, true]),
    );
  });

  test("begins again with another epoch", () => {
    const members = settled(1, 2);
    members.see(3, proven(2));
    expect(KEYS.some((key) => members.owns(key))).toBe(false);
  });
});

test("whoever listens is told of each change, and of nothing else", () => {
  const members = settled(1);
  let told = 0;
  const owned: number[] = [];
  const stop = members.onChange(() => {
    told++;
    owned.push(KEYS.filter((key) => members.owns(key)).length);
  });
  members.see(1, []);
  expect(told).toBe(0);
  members.see(1, proven(2));
  members.see(1, proven(2));
  expect(told).toBe(1);
  stop();
  // Who is told looks for what it owns by then.
  expect(owned).toEqual([KEYS.filter((key) => members.owns(key)).length]);
  members.see(1, []);
  expect(told).toBe(1);
});

test("a process alone on its data owns everything", () => {
  const members = new Members(true);
  expect(members.owns("w-1")).toBe(true);
});
