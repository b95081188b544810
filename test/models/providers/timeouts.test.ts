// Tests the timeouts of a request, and which side they blame.
import { expect, test } from "bun:test";
import type { TimeoutReason } from "../../../src/models/providers/openai/errors.ts";
import { abortOnDisconnect, RequestTimeouts } from "../../../src/models/providers/timeouts.ts";
import { createAsk } from "../../support/ask.ts";
import { createManualClock } from "../../support/clock.ts";

function start(firstMs = 100) {
  const clock = createManualClock();
  const caller = new AbortController();
  const cuts: TimeoutReason[] = [];
  const watch = new RequestTimeouts(clock, caller.signal, firstMs, (cut) => cuts.push(cut));
  return { clock, caller, watch, cuts };
}

test("a reply that does not begin is late", async () => {
  const { clock, cuts } = start();
  await clock.advance(99);
  expect(cuts).toEqual([]);
  await clock.advance(1);
  expect(cuts).toEqual(["late"]);
  expect(clock.pending()).toBe(0);
});

test("a reply that began has a timeout between chunks, and then it is stalled", async () => {
  const { clock, watch, cuts } = start();
  for (let n = 0; n < 10; n++) {
    await clock.advance(49);
    watch.allow(50);
  }
  await clock.advance(49);
  expect(cuts).toEqual([]);
  await clock.advance(1);
  expect(cuts).toEqual(["stalled"]);
});

test("a chunk timeout longer than that of the first token applies too", async () => {
  const { clock, watch, cuts } = start(10);
  watch.allow(1_000);
  await clock.advance(999);
  expect(cuts).toEqual([]);
  await clock.advance(1);
  expect(cuts).toEqual(["stalled"]);
});

test("a thousand chunks need one timer", async () => {
  const { clock, watch } = start();
  let timers = 0;
  const { after } = clock;
  clock.after = (...timer) => {
    timers += 1;
    return after(...timer);
  };
  for (let n = 0; n < 1_000; n++) watch.allow(100);
  expect([clock.pending(), timers]).toEqual([1, 0]);
});

test("a caller who leaves cuts at once, and only once", async () => {
  const { clock, caller, cuts } = start();
  caller.abort();
  expect(cuts).toEqual(["left"]);
  await clock.advance(1_000);
  expect([cuts, clock.pending()]).toEqual([["left"], 0]);
});

test("a pending onChunk pauses the upstream's timeout", async () => {
  const { clock, watch, cuts } = start();
  watch.allow(50);
  await clock.advance(40);
  watch.hold(50);
  await clock.advance(40);
  watch.release();
  await clock.advance(40);
  expect(cuts).toEqual([]);
  await clock.advance(10);
  expect(cuts).toEqual(["stalled"]);
});

test("an onChunk pending longer than a stall means a caller who does not read", async () => {
  const { clock, watch, cuts } = start();
  watch.allow(50);
  watch.hold(50);
  await clock.advance(50);
  expect(cuts).toEqual(["deaf"]);
});

test("a pending onChunk has its own timeout, also after the end with a short one for the upstream", async () => {
  const { clock, watch, cuts } = start();
  watch.allow(2);
  watch.hold(50);
  await clock.advance(49);
  expect(cuts).toEqual([]);
  watch.release();
  await clock.advance(2);
  expect(cuts).toEqual(["stalled"]);
});

test("after the end no timer is left, nothing is cut, and the caller may leave", async () => {
  const { clock, caller, watch, cuts } = start();
  watch.end();
  caller.abort();
  await clock.advance(1_000);
  expect([cuts, clock.pending()]).toEqual([[], 0]);
});

test("the request of a caller who has left is not begun", async () => {
  let begun = 0;
  const complete = abortOnDisconnect(() => {
    begun++;
    return new Promise(() => {});
  });
  const completion = await complete(createAsk("Hello"), () => {}, AbortSignal.abort());
  expect([completion.ok || completion.code, begun]).toEqual(["client_closed_request", 0]);
});
