// Tests that a guarded request passes the fence of its process right before its first byte.
import { expect, test } from "bun:test";
import type { EgressFence } from "../../src/net/guarded.ts";
import { createManualClock } from "../support/clock.ts";
import { ask, guard, pretendInternet } from "./guard.ts";

const url = "https://hooks.example.com/";

/** A fence that a test opens and closes. */
function createFence(isOpen: boolean) {
  const opened: (() => void)[] = [];
  const fence = {
    isOpen,
    waits: 0,
    async pass(signal?: AbortSignal) {
      fence.waits += 1;
      await new Promise<void>((resolve) => {
        opened.push(resolve);
        signal?.addEventListener("abort", () => resolve());
      });
      return !signal?.aborted;
    },
    open() {
      fence.isOpen = true;
      for (const resolve of opened.splice(0)) resolve();
    },
  } satisfies EgressFence & Record<string, unknown>;
  return fence;
}

/** Waits until something holds. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

test("a request at a closed fence is sent when it opens, and not before", async () => {
  using internet = pretendInternet();
  const fence = createFence(false);
  const egress = guard([], { resolve: async () => ["8.8.8.8"], dial: internet.dial, fence });
  const asked = egress.request({ ...ask, url });
  await until(() => fence.waits === 1);
  expect(internet.dialled).toEqual([]);
  fence.open();
  expect(await asked).toMatchObject({ ok: true, status: 200 });
  expect(internet.requests).toHaveLength(1);
});

test("a fence that closes while the connection is made keeps back the first byte", async () => {
  using internet = pretendInternet();
  const fence = createFence(true);
  let closed = 0;
  const egress = guard([], {
    ...{ resolve: async () => ["8.8.8.8"], fence },
    dial(target, options) {
      // The process is frozen in the middle of its first connection.
      if (internet.dialled.length === 0) fence.isOpen = false;
      return internet.dial(target, {
        ...options,
        onOpen(connection) {
          const close = connection.close.bind(connection);
          connection.close = () => {
            closed += 1;
            close();
          };
          options.onOpen(connection);
        },
      });
    },
  });
  const asked = egress.request({ ...ask, url });
  await until(() => fence.waits === 1);
  expect([internet.dialled.length, internet.requests, closed]).toEqual([1, [], 1]);
  fence.open();
  expect(await asked).toMatchObject({ ok: true, status: 200 });
  // Sent once, over another connection.
  expect([internet.dialled.length, internet.requests.length]).toEqual([2, 1]);
});

test("a request waits at the fence for no longer than its time, and was not sent then", async () => {
  using internet = pretendInternet();
  const clock = createManualClock();
  const fence = createFence(false);
  const egress = guard([], { resolve: async () => ["8.8.8.8"], dial: internet.dial, fence, clock });
  const asked = egress.request({ ...ask, url });
  await until(() => fence.waits === 1);
  await clock.advance(15_000);
  expect(await asked).toMatchObject({ ok: false, code: "timeout", sent: false });
  expect(internet.dialled).toEqual([]);
});

test("an address that took all the time leaves none to the next, also at a closed fence", async () => {
  const clock = createManualClock();
  const fence = createFence(true);
  const dialled: string[] = [];
  const egress = guard([], {
    ...{ resolve: async () => ["8.8.8.8", "8.8.4.4"], fence, clock },
    dial({ hostname }) {
      dialled.push(hostname);
      fence.isOpen = false;
      return () => {};
    },
  });
  const asked = egress.request({ ...ask, url, timeoutMs: 1_000 });
  await until(() => dialled.length === 1);
  await clock.advance(1_000);
  expect(await asked).toMatchObject({ ok: false, code: "timeout", sent: false });
  expect([dialled, fence.waits]).toEqual([["8.8.8.8"], 0]);
});
