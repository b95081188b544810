// Tests the scan of all pending deliveries: in pages, and again if it was requested meanwhile.
import { expect, test } from "bun:test";
import { Recovery } from "../../src/webhooks/recovery.ts";
import { RETRY_WAIT_MAX_MS } from "../../src/webhooks/retry-schedule.ts";
import type { WaitingEndpoint } from "../../src/webhooks/store/claim.ts";
import { createManualClock } from "../support/clock.ts";

const ENDPOINTS = 450;

function open() {
  const clock = createManualClock();
  const endpoints: WaitingEndpoint[] = Array.from({ length: ENDPOINTS }, (_, n) => {
    const nothing = { first_due_at: null, retry_due_at: null, first_far_at: null };
    const standing = { failing_since: null, last_success_at: null };
    return { id: `w-${1_000 + n}`, account_id: "a-1", ...standing, ...nothing, retry_far_at: null };
  });
  const loads: string[] = [];
  const seen: string[] = [];
  /** What was made due at once, and announced as that. */
  const pulled: unknown[] = [];
  const recovery = new Recovery({
    deps: { clock, log: undefined as never, process: { epoch: 1 } },
    store: {
      async listWaiting(after, limit) {
        loads.push(after);
        return endpoints.filter(({ id }) => id > after).slice(0, limit);
      },
      pull: async (queues) => void pulled.push(...queues),
      listHeld: async () => [],
      release: async () => [],
    },
    queue: {
      load: ({ id }) => seen.push(id) > 0,
      expect: ({ webhookId, queue }, at) => void pulled.push([webhookId, queue, at]),
    },
    isInHand: () => false,
    onFound: () => undefined,
  });
  /** Waits enough turns for all its work. */
  const settle = async () => {
    for (let turn = 0; turn < 20; turn++) await clock.advance(0);
  };
  return { clock, settle, endpoints, loads, seen, pulled, recovery };
}

test("every endpoint is loaded, whatever their number", async () => {
  const { settle, endpoints, seen, recovery } = open();
  recovery.scan();
  await settle();
  expect(seen).toEqual(endpoints.map(({ id }) => id));
});

test("scans requested during a scan become one more", async () => {
  const { settle, loads, recovery } = open();
  for (let times = 0; times < 3; times++) recovery.scan();
  await settle();
  expect(loads.filter((after) => after === "")).toHaveLength(2);
  recovery.scan();
  void recovery.stop();
  await settle();
  expect(loads.filter((after) => after === "")).toHaveLength(3);
  expect(loads).toHaveLength(7);
});

test("a clock that is set during a scan causes another one", async () => {
  const { clock, settle, endpoints, loads, recovery } = open();
  const list = endpoints.filter.bind(endpoints);
  endpoints.filter = ((look: never) => {
    if (loads.length === 1) clock.shiftWall(60_000);
    return list(look);
  }) as never;
  recovery.scan();
  await settle();
  recovery.checkClock();
  await settle();
  expect(loads.filter((after) => after === "")).toHaveLength(2);
});

test("a clock that is set, forward or back, causes a scan, and a correction none", async () => {
  const { clock, settle, loads, recovery } = open();
  const countScans = async (shiftMs: number) => {
    loads.length = 0;
    clock.shiftWall(shiftMs);
    recovery.checkClock();
    await settle();
    return loads.filter((after) => after === "").length;
  };
  const scans: number[] = [];
  for (const shiftMs of [1_000, 1, -1_000, -1]) scans.push(await countScans(shiftMs));
  expect(scans).toEqual([0, 1, 0, 1]);
});

test("only what is due later than any plan allows is made due at once", async () => {
  const { clock, settle, endpoints, pulled, recovery } = open();
  const now = clock.now();
  const until = [now + 60_000, now + RETRY_WAIT_MAX_MS] as const;
  const [one] = endpoints.splice(1);
  Object.assign(endpoints[0]!, { first_far_at: until[0], retry_far_at: until[1] });
  recovery.scan();
  await settle();
  expect(pulled).toEqual([]);
  endpoints.push(Object.assign(one!, { first_far_at: until[0] + 1, retry_far_at: until[1] + 1 }));
  recovery.scan();
  await settle();
  const { id: webhookId } = one!;
  expect(pulled).toEqual([
    { webhookId, queue: 0, until: until[0] },
    { webhookId, queue: 1, until: until[1] },
    ...[0, 1].map((queue) => [webhookId, queue, now]),
  ]);
});
