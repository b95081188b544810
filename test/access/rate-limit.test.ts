// Tests the limiter alone: the sliding window, the closing and Retry-After.
import { describe, expect, test } from "bun:test";
import { RateLimiter } from "../../src/access/rate-limit.ts";
import type { ApiError } from "../../src/platform/errors.ts";
import { createManualClock } from "../support/clock.ts";

const rule = { requests_max: 3, windowMs: 60_000, closingMs: 60_000 };

/** `undefined` if the request was counted, otherwise the seconds of Retry-After. */
function take(limiter: RateLimiter, name = "a"): string | undefined {
  try {
    limiter.take(name);
    return undefined;
  } catch (failure) {
    expect((failure as ApiError).code).toBe("rate_limit_exceeded");
    return (failure as ApiError).details.headers?.["retry-after"];
  }
}

test("gateway.limits.rate the window slides: a slot is free again 60 s after it was taken", async () => {
  const clock = createManualClock();
  const limiter = new RateLimiter(clock, { ...rule, closingMs: 0 });
  expect(take(limiter)).toBeUndefined();
  await clock.advance(20_000);
  expect([take(limiter), take(limiter)]).toEqual([undefined, undefined]);
  await clock.advance(39_999);
  expect(take(limiter)).toBe("1");
  await clock.advance(1);
  expect(take(limiter)).toBeUndefined();
  // The next two were taken at 20 s.
  expect(take(limiter)).toBe("20");
  await clock.advance(20_000);
  expect([take(limiter), take(limiter), take(limiter)]).toEqual([undefined, undefined, "40"]);
});

test("a waiting caller learns its exact wait, and counts only once admitted", async () => {
  const clock = createManualClock();
  const limiter = new RateLimiter(clock, { ...rule, requests_max: 2, closingMs: 0 });
  expect(limiter.claim("a")).toBe(0);
  await clock.advance(500);
  expect([limiter.claim("a"), limiter.claim("a"), limiter.claim("b")]).toEqual([0, 59_500, 0]);
  await clock.advance(59_499);
  expect([limiter.claim("a"), limiter.claim("a")]).toEqual([1, 1]);
  await clock.advance(1);
  expect([limiter.claim("a"), limiter.claim("a")]).toEqual([0, 500]);
  // Both methods share one count.
  expect(take(limiter)).toBe("1");
});

test("gateway.limits.after_exceeding the limit stays closed for 60 s after the first excess request", async () => {
  const clock = createManualClock();
  const limiter = new RateLimiter(clock, rule);
  for (let i = 0; i < 3; i++) expect(take(limiter)).toBeUndefined();
  await clock.advance(59_999);
  expect(take(limiter)).toBe("60");
  // Slots are free by now, but the name is closed.
  await clock.advance(1);
  expect(take(limiter)).toBe("60");
  await clock.advance(58_998);
  expect(take(limiter)).toBe("2");
  await clock.advance(1);
  expect(take(limiter)).toBe("1");
  await clock.advance(999);
  expect(take(limiter)).toBe("1");
  await clock.advance(1);
  expect(take(limiter)).toBeUndefined();
});

test("gateway.limits.after_exceeding refused requests neither count nor prolong the closing", async () => {
  const clock = createManualClock();
  const limiter = new RateLimiter(clock, rule);
  for (let i = 0; i < 4; i++) take(limiter);
  for (let second = 1; second < 60; second++) {
    await clock.advance(1_000);
    expect(take(limiter)).toBe(String(60 - second));
  }
  await clock.advance(1_000);
  const taken = [take(limiter), take(limiter), take(limiter)];
  expect(taken).toEqual([undefined, undefined, undefined]);
});

test("names are counted separately", () => {
  const limiter = new RateLimiter(createManualClock(), rule);
  for (let i = 0; i < 3; i++) take(limiter, "a");
  expect(take(limiter, "b")).toBeUndefined();
  expect(take(limiter, "a")).toBe("60");
});

test("the wall clock has no effect", () => {
  const clock = createManualClock();
  const limiter = new RateLimiter(clock, rule);
  for (let i = 0; i < 4; i++) take(limiter);
  clock.shiftWall(3_600_000);
  expect(take(limiter)).toBe("60");
  clock.shiftWall(-7_200_000);
  expect(take(limiter)).toBe("60");
});

test("counters in use outlive the sweep of unused ones", async () => {
  const clock = createManualClock();
  const limiter = new RateLimiter(clock, { requests_max: 1, windowMs: 1_000, closingMs: 5_000 });
  take(limiter, "closed");
  expect(take(limiter, "closed")).toBe("5");
  await clock.advance(4_500);
  take(limiter, "fresh");
  // More requests than between two sweeps, each with another name.
  for (let i = 0; i < 10_000; i++) take(limiter, `stranger ${i}`);
  expect(take(limiter, "closed")).toBe("1");
  expect(take(limiter, "fresh")).toBe("5");
  await clock.advance(500);
  expect(take(limiter, "closed")).toBeUndefined();
});

describe("with caller-chosen names", () => {
  const strange = { ...rule, requests_max: 1, closingMs: 0, namesMax: 10 };

  test("agents.limits.request_rate the least recently used names are evicted beyond the maximum", async () => {
    const clock = createManualClock();
    const limiter = new RateLimiter(clock, strange);
    for (let n = 0; n < 10; n++) {
      take(limiter, `name ${n}`);
      await clock.advance(1_000);
    }
    take(limiter, "one more");
    expect(take(limiter, "name 2")).toBe("52");
    expect(take(limiter, "name 9")).toBe("59");
    expect(take(limiter, "one more")).toBe("60");
    expect(take(limiter, "name 0")).toBeUndefined();
  });

  test("agents.limits.request_rate as many names as the maximum are all kept", () => {
    const limiter = new RateLimiter(createManualClock(), strange);
    const names = Array.from({ length: 10 }, (_, n) => `name ${n}`);
    for (const name of names) expect(take(limiter, name)).toBeUndefined();
    for (const name of names) expect(take(limiter, name)).toBe("60");
  });

  test("a refused name that keeps asking is not evicted", () => {
    const limiter = new RateLimiter(createManualClock(), strange);
    take(limiter, "eager");
    for (let n = 0; n < 100; n++) {
      take(limiter, `name ${n}`);
      expect(take(limiter, "eager")).toBe("60");
    }
  });
});

test("gateway.limits.rate a growing counter admits exactly what a full request list would", async () => {
  const clock = createManualClock();
  const rule = { requests_max: 50, windowMs: 1_000, closingMs: 0 };
  const limiter = new RateLimiter(clock, rule);
  const taken: number[] = [];
  for (let at = 0; at < 3_000; at++) {
    // Bursts and pauses of every length, equal in every run.
    await clock.advance(at % 97 === 0 ? (at * 37) % 1_500 : (at * 13) % 40);
    const now = clock.monotonic();
    const isFree = taken.filter((one) => one > now - rule.windowMs).length < rule.requests_max;
    let isTaken = true;
    try {
      limiter.take("a");
    } catch {
      isTaken = false;
    }
    expect(isTaken).toBe(isFree);
    if (isTaken) taken.push(now);
  }
  expect(taken.length).toBeGreaterThan(1_000);
  expect(taken.length).toBeLessThan(3_000);
});

describe("a limit changed while serving", () => {
  const open = { ...rule, closingMs: 0 };
  test("a lower limit counts requests admitted before it", async () => {
    const limiter = new RateLimiter(createManualClock(), { ...open, requests_max: 40 });
    for (let n = 0; n < 30; n++) expect(take(limiter)).toBeUndefined();
    limiter.change(31);
    expect([take(limiter), take(limiter)]).toEqual([undefined, "60"]);
    limiter.change(10);
    expect(take(limiter)).toBe("60");
    // Earlier requests still count.
    limiter.change(32);
    expect([take(limiter), take(limiter)]).toEqual([undefined, "60"]);
  });

  test("a lower limit admits a request once the window has room", async () => {
    const clock = createManualClock();
    const limiter = new RateLimiter(clock, { ...open, requests_max: 20 });
    for (let n = 0; n < 20; n++) {
      take(limiter);
      await clock.advance(1_000);
    }
    limiter.change(5);
    // The fifth from the end was taken at 15 s.
    expect(take(limiter)).toBe("55");
    await clock.advance(55_000);
    expect([take(limiter), take(limiter)]).toEqual([undefined, "1"]);
  });

  test("a higher limit reopens what the old one closed", () => {
    const limiter = new RateLimiter(createManualClock(), rule);
    for (let n = 0; n < 3; n++) take(limiter);
    expect([take(limiter), take(limiter)]).toEqual(["60", "60"]);
    limiter.change(4);
    expect([take(limiter), take(limiter)]).toEqual([undefined, "60"]);
    // A lower limit does not reopen it.
    limiter.change(2);
    expect(take(limiter)).toBe("60");
  });

  test("the same or a lower limit keeps a closed name closed, even with an empty window", async () => {
    const clock = createManualClock();
    const limiter = new RateLimiter(clock, rule);
    for (let n = 0; n < 3; n++) take(limiter);
    await clock.advance(50_000);
    expect(take(limiter)).toBe("60");
    await clock.advance(20_000);
    for (const requests_max of [3, 2]) {
      limiter.change(requests_max);
      expect(take(limiter)).toBe("40");
    }
  });
});

describe("gateway.limits.rate another process continues the counters", () => {
  test("with the same windows and closings, on its own clock", async () => {
    const clock = createManualClock();
    const before = new RateLimiter(clock, rule);
    take(before, "used");
    await clock.advance(20_000);
    take(before, "used");
    for (let n = 0; n < 4; n++) take(before, "closed");
    await clock.advance(10_000);
    const other = createManualClock();
    await other.advance(1_234);
    const after = new RateLimiter(other, rule);
    after.import(JSON.parse(JSON.stringify(before.export())));
    expect([take(after, "closed"), take(before, "closed")]).toEqual(["50", "50"]);
    expect([take(after, "used"), take(after, "used")]).toEqual([undefined, "60"]);
    expect(take(after, "new")).toBeUndefined();
    await other.advance(50_000);
    expect(take(after, "closed")).toBeUndefined();
  });

  test("in the order of the requests, whichever slot of the ring the oldest has", async () => {
    const clock = createManualClock();
    const before = new RateLimiter(clock, rule);
    for (let n = 0; n < 3; n++) {
      take(before);
      await clock.advance(25_000);
    }
    // The first is out of the window, and its slot has the newest.
    expect(take(before)).toBeUndefined();
    const after = new RateLimiter(clock, { ...rule, closingMs: 0 });
    after.import(before.export());
    expect(after.claim("a")).toBe(10_000);
  });

  test("what is out of the window is left behind", async () => {
    const clock = createManualClock();
    const limiter = new RateLimiter(clock, rule);
    take(limiter);
    await clock.advance(60_000);
    expect(limiter.export()).toEqual([]);
  });

  test("a follower that counts alone again has counted what the other process admitted", async () => {
    const clock = createManualClock();
    const sliding = { ...rule, closingMs: 0 };
    const leader = new RateLimiter(clock, sliding);
    const follower = new RateLimiter(clock, sliding);
    follower.follow(async (name) => leader.claim(name));
    for (let n = 0; n < 3; n++) expect(await follower.claim("a")).toBe(0);
    follower.follow(null);
    await clock.advance(59_999);
    expect(take(follower)).toBe("1");
    await clock.advance(1);
    expect(take(follower)).toBeUndefined();
  });

  test("a sliding limit is not closed by what the other process has refused", async () => {
    const follower = new RateLimiter(createManualClock(), { ...rule, closingMs: 0 });
    follower.follow(async () => 60_000);
    expect(await follower.claim("a")).toBe(60_000);
    follower.follow(null);
    expect(follower.claim("a")).toBe(0);
  });

  test("a follower asks the other process, notes its answers, and counts alone once it has ended", async () => {
    const clock = createManualClock();
    const leader = new RateLimiter(clock, rule);
    const follower = new RateLimiter(clock, rule);
    let hasEnded = false;
    follower.follow(async (name) => {
      if (hasEnded) throw new Error("gone");
      return leader.claim(name);
    });
    expect([await follower.claim("a"), await leader.claim("a")]).toEqual([0, 0]);
    expect(await follower.claim("a")).toBe(0);
    await expect(follower.take("a")!).rejects.toMatchObject({ code: "rate_limit_exceeded" });
    hasEnded = true;
    expect(await follower.claim("a")).toBe(60_000);
    follower.follow(null);
    await clock.advance(60_000);
    expect([take(follower), take(follower), take(follower)]).toEqual(Array(3).fill(undefined));
    expect(take(follower)).toBe("60");
  });
});
