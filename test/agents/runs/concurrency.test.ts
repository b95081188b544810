// Places in which runs are executed, and whose turn it is.
import { describe, expect, test } from "bun:test";
import { createRunSlots } from "../../../src/agents/runs/concurrency.ts";

const claim = (places: ReturnType<typeof createRunSlots>, has: Record<string, number>) => {
  const turns = places.plan();
  const claimed = new Map<string, number>();
  for (const { account_id, runs_max } of turns) {
    const count = Math.min(runs_max, has[account_id] ?? 0);
    has[account_id] = (has[account_id] ?? 0) - count;
    claimed.set(account_id, count);
    for (let n = 0; n < count; n++) places.take();
  }
  places.settle(turns, claimed);
  return Object.fromEntries(turns.map(({ account_id, runs_max }) => [account_id, runs_max]));
};

describe("free places", () => {
  test("are shared out, one for each account, and again from the front", () => {
    const places = createRunSlots(() => 5);
    for (const account of ["a", "b"]) places.tell(account);
    expect(claim(places, { a: 100, b: 1 })).toEqual({ a: 3, b: 2 });
  });

  test("that come one by one go round", () => {
    const places = createRunSlots(() => 1);
    const has = { a: 100, b: 2, c: 2 };
    for (const account of ["a", "b", "c"]) places.tell(account);
    const order = Array.from({ length: 6 }, () => {
      const [account] = Object.keys(claim(places, has));
      places.give();
      return account;
    });
    expect(order.join("")).toBe("abcabc");
  });

  test("are asked for no longer for who has nothing, unless it is told meanwhile", () => {
    const places = createRunSlots(() => 2);
    places.tell("a");
    expect(claim(places, {})).toEqual({ a: 2 });
    expect(places.plan()).toEqual([]);
    places.tell("a");
    const turns = places.plan();
    places.tell("a");
    places.settle(turns, new Map());
    expect(places.plan()).toEqual([{ account_id: "a", runs_max: 2 }]);
  });

  test("are first for who comes back; who is broken off waits for none", async () => {
    let count_max = 1;
    const places = createRunSlots(() => count_max);
    const signal = new AbortController();
    places.take();
    places.tell("a");
    let isBack = false;
    const back = places.comeBack(signal.signal).then(() => {
      isBack = true;
    });
    await Promise.resolve();
    expect(isBack).toBe(false);
    places.give();
    expect(places.plan()).toEqual([]);
    await back;
    const broken = places.comeBack(signal.signal);
    signal.abort();
    await broken;
    await places.comeBack(signal.signal);
    for (let n = 0; n < 3; n++) places.give();
    count_max = 3;
    expect(places.plan()).toEqual([{ account_id: "a", runs_max: 3 }]);
  });

  test("are taken at once by who comes back, when the last one is given", async () => {
    const places = createRunSlots(() => 1);
    places.take();
    const back = places.comeBack(new AbortController().signal);
    places.give();
    await back;
    places.tell("a");
    expect(places.plan()).toEqual([]);
  });
});
