// The cached caller of a run: valid for a second, or until a notified change.
import { expect, test } from "bun:test";
import type { Caller } from "../../../src/access/index.ts";
import type { AgentsDeps } from "../../../src/agents/deps.ts";
import { CallerCache } from "../../../src/agents/runs/caller-cache.ts";
import { createManualClock } from "../../support/clock.ts";

function open() {
  const clock = createManualClock();
  const looks: PromiseWithResolvers<Caller | undefined>[] = [];
  let notify = () => {};
  const deps = {
    clock,
    access: {
      findCaller() {
        const look = Promise.withResolvers<Caller | undefined>();
        looks.push(look);
        return look.promise;
      },
    },
    database: {
      listen(_channel: string, listener: () => void) {
        notify = listener;
        return () => undefined;
      },
    },
  } as unknown as AgentsDeps;
  return { clock, looks, notify: () => notify(), callers: new CallerCache(deps) };
}
const caller = { key_id: "k" } as Caller;

test("a key is looked up once a second", async () => {
  const { clock, looks, callers } = open();
  for (const [ms, count] of [
    [0, 1],
    [999, 1],
    [1, 2],
  ] as const) {
    await clock.advance(ms);
    const found = callers.find("k");
    looks.at(-1)!.resolve(caller);
    expect(await found).toBe(caller);
    expect(looks).toHaveLength(count);
  }
});

test("the caller of a start is kept, unless its key may have changed since it was read", async () => {
  const { clock, looks, notify, callers } = open();
  const kept = { ...caller, scopes: [] };
  const readAt = clock.monotonic();
  await clock.advance(999);
  callers.keep("k", kept, readAt);
  expect(await callers.find("k")).toBe(kept);
  await clock.advance(1);
  void callers.find("k");
  expect(looks).toHaveLength(1);
  notify();
  callers.keep("k", kept, clock.monotonic());
  void callers.find("k");
  expect(looks).toHaveLength(2);
});

test("a key's second begins with its lookup, not with the answer", async () => {
  const { clock, looks, callers } = open();
  const found = callers.find("k");
  await clock.advance(600);
  looks[0]!.resolve(caller);
  await found;
  await clock.advance(399);
  await callers.find("k");
  expect(looks).toHaveLength(1);
  await clock.advance(1);
  void callers.find("k");
  expect(looks).toHaveLength(2);
});

test("agents.authentication.1: a lookup during which a key ended is not cached", async () => {
  const { looks, notify, callers } = open();
  const before = callers.find("k");
  notify();
  looks[0]!.resolve(caller);
  await before;
  const after = callers.find("k");
  expect(looks).toHaveLength(2);
  looks[1]!.resolve(undefined);
  expect(await after).toBeUndefined();
});

test("an ended key is not cached, and an unknown key has no caller", async () => {
  const { looks, callers } = open();
  const none = callers.find("k");
  looks[0]!.resolve(undefined);
  expect(await none).toBeUndefined();
  void callers.find("k");
  expect(looks).toHaveLength(2);
  expect(await callers.find(null)).toBeUndefined();
});

test("at most 10,000 callers are remembered", async () => {
  const { looks, callers } = open();
  const find = (id: string) => {
    const found = callers.find(id);
    looks.at(-1)!.resolve(caller);
    return found;
  };
  for (let n = 0; n < 10_000; n++) await find(`k-${n}`);
  await find("k-0");
  expect(looks).toHaveLength(10_000);
  await find("k-10000");
  await find("k-0");
  expect(looks).toHaveLength(10_002);
});
