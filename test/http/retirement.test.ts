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

function retire(clock: Parameters<typeof waitForClients>[1]["clock"]): Promise<void> {
  const server = { addresses: [], pendingRequests: 0 };
  return waitForClients(server, { clock, endStreams() {} }, 60_000, new AbortController().signal);
}
