// Tests when a server that another one replaces has no clients left.
import { expect, test } from "bun:test";
import { waitForClients } from "../../src/http/retirement.ts";
import { createManualClock } from "../support/clock.ts";

test("a server without clients waits a second for those that arrive", async () => {
  const clock = createManualClock();
  let hasEnded = false;
  void retire(clock).then(() => {
    hasEnded = true;
  });
  await clock.advance(950);
  expect(hasEnded).toBeFalse();
  await clock.advance(50);
  expect(hasEnded).toBeTrue();
});

test("a process that was stopped reads what has come before it judges connections", async () => {
  const clock = createManualClock();
  let stoppedMs = 0;
  let hasEnded = false;
  const late = { ...clock, monotonic: () => clock.monotonic() + stoppedMs };
  void retire(late).then(() => {
    hasEnded = true;
  });
  await clock.advance(50);
  stoppedMs = 12_000;
  await clock.advance(50);
  expect(hasEnded).toBeFalse();
  await clock.advance(50);
  expect(hasEnded).toBeTrue();
});

test("streams are ended and open requests waited for, up to a deadline or the signal", async () => {
  const clock = createManualClock();
  const stop = new AbortController();
  const server = { addresses: [], pendingRequests: 1 };
  let ends = 0;
  const endStreams = () => {
    ends += 1;
  };
  const ended: string[] = [];
  const wait = async (name: string, deadlineMs: number, signal: AbortSignal) => {
    await waitForClients(server, { clock, endStreams }, deadlineMs, signal);
    ended.push(name);
  };
  void wait("stopped", 60_000, stop.signal);
  void wait("late", 2_000, new AbortController().signal);
  void wait("served", 60_000, new AbortController().signal);
  await clock.advance(1_950);
  expect(ended).toEqual([]);
  // Three look at once, every 50 ms from the beginning.
  expect(ends).toBe(3 * 40);
  await clock.advance(50);
  expect(ended).toEqual(["late"]);
  stop.abort();
  await clock.advance(50);
  expect(ended).toEqual(["late", "stopped"]);
  server.pendingRequests = 0;
  await clock.advance(50);
  expect(ended).toEqual(["late", "stopped", "served"]);
});

function retire(clock: Parameters<typeof waitForClients>[1]["clock"]): Promise<void> {
  const server = { addresses: [], pendingRequests: 0 };
  return waitForClients(server, { clock, endStreams() {} }, 60_000, new AbortController().signal);
}
