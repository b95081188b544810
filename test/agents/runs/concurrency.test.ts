// Slots for executing runs, and the turns of accounts.
import { describe, expect, test } from "bun:test";
import { RunSlots } from "../../../src/agents/runs/concurrency.ts";

const claim = (slots: RunSlots, has: Record<string, number>) => {
  const turns = slots.planClaims();
  const claimed = new Map<string, number>();
  for (const { account_id, runsMax } of turns) {
    const count = Math.min(runsMax, has[account_id] ?? 0);
    has[account_id] = (has[account_id] ?? 0) - count;
    claimed.set(account_id, count);
    for (let n = 0; n < count; n++) slots.acquire();
  }
  slots.settleClaims(turns, claimed);
  return Object.fromEntries(turns.map(({ account_id, runsMax }) => [account_id, runsMax]));
};

describe("free slots", () => {
  test("go to accounts in turn, one each", () => {
    const slots = new RunSlots(() => 5);
    for (const account of ["a", "b"]) slots.addWaiting(account);
    expect(claim(slots, { a: 100, b: 1 })).toEqual({ a: 3, b: 2 });
  });

  test("that free up one by one rotate among accounts", () => {
    const slots = new RunSlots(() => 1);
    const has = { a: 100, b: 2, c: 2 };
    for (const account of ["a", "b", "c"]) slots.addWaiting(account);
    const order = Array.from({ length: 6 }, () => {
      const [account] = Object.keys(claim(slots, has));
      slots.release();
      return account;
    });
    expect(order.join("")).toBe("abcabc");
  });

  test("skip an account without work, unless a signal arrives meanwhile", () => {
    const slots = new RunSlots(() => 2);
    slots.addWaiting("a");
    expect(claim(slots, {})).toEqual({ a: 2 });
    expect(slots.planClaims()).toEqual([]);
    slots.addWaiting("a");
    const turns = slots.planClaims();
    slots.addWaiting("a");
    slots.settleClaims(turns, new Map());
    expect(slots.planClaims()).toEqual([{ account_id: "a", runsMax: 2 }]);
  });

  test("go first to a returning run; an aborted one waits for none", async () => {
    let count_max = 1;
    const slots = new RunSlots(() => count_max);
    const signal = new AbortController();
    slots.acquire();
    slots.addWaiting("a");
    let isBack = false;
    const back = slots.reacquire(signal.signal).then(() => {
      isBack = true;
    });
    await Promise.resolve();
    expect(isBack).toBe(false);
    slots.release();
    expect(slots.planClaims()).toEqual([]);
    await back;
    const broken = slots.reacquire(signal.signal);
    signal.abort();
    await broken;
    await slots.reacquire(signal.signal);
    for (let n = 0; n < 3; n++) slots.release();
    count_max = 3;
    expect(slots.planClaims()).toEqual([{ account_id: "a", runsMax: 3 }]);
  });

  test("are taken at once by a returning run when the last one is released", async () => {
    const slots = new RunSlots(() => 1);
    slots.acquire();
    const back = slots.reacquire(new AbortController().signal);
    slots.release();
    await back;
    slots.addWaiting("a");
    expect(slots.planClaims()).toEqual([]);
  });

  test("that a higher limit adds go to a returning run before any claim", async () => {
    let count_max = 1;
    const slots = new RunSlots(() => count_max);
    slots.acquire();
    const back = slots.reacquire(new AbortController().signal);
    slots.addWaiting("a");
    count_max = 2;
    expect(slots.planClaims()).toEqual([]);
    await back;
  });

  test("are taken once by a returning run, though it is aborted afterwards", async () => {
    const slots = new RunSlots(() => 2);
    const signal = new AbortController();
    await slots.reacquire(signal.signal);
    signal.abort();
    slots.addWaiting("a");
    expect(slots.planClaims()).toEqual([{ account_id: "a", runsMax: 1 }]);
  });
});
