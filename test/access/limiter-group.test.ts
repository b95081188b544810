// Tests that a takeover continues all limits of a process by their names.
import { expect, test } from "bun:test";
import { LimiterGroup } from "../../src/access/limiter-group.ts";
import { RateLimiter } from "../../src/access/rate-limit.ts";
import { createManualClock } from "../support/clock.ts";

/** A group of these limiters, each for two requests a minute. */
function open(...names: string[]) {
  const clock = createManualClock();
  const limiters = names.map((name) => {
    const rule = { requests_max: 2, windowMs: 60_000, closingMs: 0 };
    return [name, new RateLimiter(clock, rule)] as const;
  });
  return new LimiterGroup(Object.fromEntries(limiters));
}
const claim = async (group: LimiterGroup, limiter: string, times = 2) => {
  const waits: number[] = [];
  for (let n = 0; n < times; n++) waits.push(await group.claim(limiter, "a"));
  return waits;
};

test("each limiter continues its own counters, and a new one begins without any", async () => {
  const before = open("requests", "searches");
  expect(await claim(before, "requests")).toEqual([0, 0]);
  const after = open("requests", "searches", "hooks");
  after.import(JSON.parse(JSON.stringify(before.export())));
  expect(await claim(after, "requests", 1)).toEqual([60_000]);
  expect(await claim(after, "searches")).toEqual([0, 0]);
  expect(await claim(after, "hooks")).toEqual([0, 0]);
});

test("a limit that only the other version knows restricts nothing here", async () => {
  expect(await claim(open("requests"), "of a later version", 3)).toEqual([0, 0, 0]);
});

test("a follower claims by the limiter's name, until it counts alone again", async () => {
  const [leader, follower] = [open("requests", "searches"), open("requests", "searches")];
  follower.follow((limiter, name) => leader.claim(limiter, name));
  expect(await claim(follower, "requests")).toEqual([0, 0]);
  expect(await claim(leader, "requests", 1)).toEqual([60_000]);
  expect(await claim(leader, "searches", 1)).toEqual([0]);
  follower.follow(null);
  expect(await claim(follower, "searches")).toEqual([0, 0]);
});

test("limiters that all processes share follow no takeover, and note what was allowed", async () => {
  const group = open("requests");
  const asked: unknown[] = [];
  group.share(async (limiter, name, { requests_max }) => {
    asked.push([limiter, name, requests_max]);
    return asked.length === 1 ? 0 : null;
  });
  for (const claimed of [async () => 0, null]) group.follow(claimed);
  // Nobody could count the second one.
  expect(await claim(group, "requests")).toEqual([0, 1_000]);
  expect(asked).toEqual(Array(2).fill(["requests", "a", 2]));
  expect(group.export()).toEqual({ requests: [["a", 0, [0]]] });
});
