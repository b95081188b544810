// Tests the fair queue alone: turns, dropped waiters, and the end of a wait.
import { describe, expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { FairQueue, type QueuedRequest } from "../../src/platform/fair-queue.ts";
import { createManualClock } from "../support/clock.ts";

const LATE_MS = 10_000;

/** A queue for slots that a test releases, and the outcome of each waiter by name. */
function openLine(waiting_max: number) {
  const clock = createManualClock();
  const line = new FairQueue<string>(clock, waiting_max);
  const outcomes: string[] = [];
  let free = 0;
  const wait = (account: string, name = account, fields: Partial<QueuedRequest<string>> = {}) => {
    const find = () => (free-- > 0 ? "found" : null);
    const signal = new AbortController().signal;
    const waiting = { account, find, isSkippable: false, timeoutMs: LATE_MS, signal, ...fields };
    return line.wait(waiting).then((outcome) => void outcomes.push(`${name} ${outcome}`));
  };
  const serve = async (places: number) => {
    free = places;
    line.serve();
    await clock.advance(0);
  };
  return { clock, line, outcomes, wait, serve };
}

describe("the order", () => {
  test("accounts take turns, and each is served in its own order", async () => {
    const { wait, serve, outcomes } = openLine(10);
    for (const name of ["a1", "a2", "a3", "b1", "b2", "c1"]) wait(name[0]!, name);
    await serve(6);
    expect(outcomes.map((one) => one.split(" ")[0]!)).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
  });

  test("an account that had a turn is placed after those that came meanwhile", async () => {
    const { wait, serve, outcomes } = openLine(10);
    for (const name of ["a1", "a2"]) wait(name[0]!, name);
    await serve(1);
    wait("b", "b1");
    await serve(1);
    await serve(1);
    // `a` was placed at the end before `b` came.
    expect(outcomes).toEqual(["a1 found", "a2 found", "b1 found"]);
  });

  test("an account whose requests were all served is placed by its next one", async () => {
    const { wait, serve, outcomes } = openLine(10);
    wait("a", "a1");
    await serve(1);
    for (const name of ["b1", "a2"]) wait(name[0]!, name);
    await serve(2);
    expect(outcomes).toEqual(["a1 found", "b1 found", "a2 found"]);
  });

  test("a bug of one waiter is its own: the others are served", async () => {
    const { wait, serve, outcomes, line, clock } = openLine(10);
    const bug = new Error("a bug");
    const fail = () => {
      throw bug;
    };
    const broken = wait("a", "a1", { find: fail }).catch((failure) => failure);
    wait("b", "b1");
    await serve(1);
    expect(await broken).toBe(bug);
    expect([outcomes, line.size, clock.pending()]).toEqual([["b1 found"], 0, 0]);
  });

  test("none is served without a slot, and one slot serves one", async () => {
    const { line, wait, serve, outcomes } = openLine(10);
    wait("a");
    wait("b");
    await serve(0);
    expect([outcomes, line.size]).toEqual([[], 2]);
    await serve(1);
    expect([outcomes, line.size]).toEqual([["a found"], 1]);
  });

  test("a selective waiter without a match is skipped, another holds back those behind it", async () => {
    const { wait, serve, outcomes } = openLine(10);
    wait("a", "a1", { find: () => null, isSkippable: true });
    wait("b", "b1");
    await serve(1);
    expect(outcomes).toEqual(["b1 found"]);
    wait("c", "c1", { find: () => null });
    wait("d", "d1");
    await serve(1);
    expect(outcomes).toEqual(["b1 found"]);
  });
});

describe("a full queue", () => {
  test("refuses a new waiter whose account would be the longest", async () => {
    const { clock, line, wait, outcomes } = openLine(2);
    for (const name of ["a1", "a2", "a3"]) wait("a", name);
    await clock.advance(0);
    expect([outcomes, line.size]).toEqual([["a3 full"], 2]);
  });

  test("drops the newest of the longest account for another account", async () => {
    const { clock, wait, serve, outcomes } = openLine(3);
    for (const name of ["a1", "a2", "a3", "b1"]) wait(name[0]!, name);
    await clock.advance(0);
    expect(outcomes).toEqual(["a3 full"]);
    await serve(3);
    expect(outcomes.slice(1)).toEqual(["a1 found", "b1 found", "a2 found"]);
  });

  test("refuses every waiter with a length of zero", async () => {
    const { clock, line, wait, outcomes } = openLine(0);
    wait("a");
    await clock.advance(0);
    expect([outcomes, line.size]).toEqual([["a full"], 0]);
  });

  test("has a changed length for later waiters", async () => {
    const { clock, line, wait, outcomes } = openLine(2);
    wait("a");
    wait("b");
    line.sizeMax = 1;
    wait("c");
    await clock.advance(0);
    expect([outcomes, line.size]).toEqual([["c full"], 2]);
    line.sizeMax = 3;
    wait("d");
    await clock.advance(0);
    expect([outcomes, line.size]).toEqual([["c full"], 3]);
  });
});

describe("a waiter without a slot", () => {
  test("times out at the end of its own time", async () => {
    const { clock, line, wait, outcomes } = openLine(10);
    wait("a");
    wait("b", "b", { timeoutMs: LATE_MS + 1 });
    await clock.advance(LATE_MS - 1);
    expect(outcomes).toEqual([]);
    await clock.advance(1);
    expect([outcomes, line.size]).toEqual([["a late"], 1]);
    await clock.advance(1);
    expect([outcomes, line.size]).toEqual([["a late", "b late"], 0]);
  });

  test("ends at once if its caller leaves, or has left before", async () => {
    const { clock, line, wait, outcomes, serve } = openLine(10);
    const leaving = new AbortController();
    wait("a", "a", { signal: leaving.signal });
    wait("b");
    leaving.abort();
    wait("c", "c", { signal: leaving.signal });
    await clock.advance(0);
    expect([outcomes, line.size]).toEqual([["a left", "c left"], 1]);
    await serve(1);
    expect(outcomes.at(-1)).toBe("b found");
  });

  test("leaves no timer and no listener on the caller's signal, and so does a served one", async () => {
    const { clock, wait, serve } = openLine(10);
    const { signal } = new AbortController();
    wait("a", "a", { signal });
    await serve(1);
    expect([clock.pending(), getEventListeners(signal, "abort")]).toEqual([0, []]);
    wait("a", "a", { signal });
    await clock.advance(LATE_MS);
    expect([clock.pending(), getEventListeners(signal, "abort")]).toEqual([0, []]);
  });

  test("keeps no turn: when it returns it is placed after those that came meanwhile", async () => {
    const { clock, wait, serve, outcomes } = openLine(10);
    const leaving = new AbortController();
    wait("a", "a1", { signal: leaving.signal });
    leaving.abort();
    wait("b", "b1");
    wait("a", "a2");
    await clock.advance(0);
    await serve(1);
    expect(outcomes).toEqual(["a1 left", "b1 found"]);
  });
});
