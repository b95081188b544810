// The capacity that all accounts share: places, the line before them, and when to come back.
import { describe, expect, test } from "bun:test";
import { Capacity } from "../../../src/gateway/metered/capacity.ts";
import { ApiError } from "../../../src/platform/errors.ts";
import { createManualClock } from "../../support/clock.ts";

const LATE_MS = 10_000;

/** A capacity whose work lasts until a test ends it; `told` holds what became of each request. */
function openCapacity(max_concurrent: number, max_queued: number) {
  const clock = createManualClock();
  const capacity = new Capacity(clock, { max_concurrent, max_queued });
  const begun: string[] = [];
  const told: string[] = [];
  const working = new Map<string, PromiseWithResolvers<string>>();
  const use = async (name: string, signal = new AbortController().signal) => {
    const work = () => {
      begun.push(name);
      const held = Promise.withResolvers<string>();
      working.set(name, held);
      return held.promise;
    };
    try {
      told.push(await capacity.use(name[0]!, signal, work));
    } catch (failure) {
      const { code, details: say } = failure as ApiError;
      const why = failure instanceof ApiError ? code : (failure as Error).message;
      told.push([name, why, say?.headers?.["retry-after"]].filter(Boolean).join(" "));
    }
  };
  const ask = async (...names: string[]) => {
    for (const name of names) void use(name);
    await clock.advance(0);
  };
  const end = async (name: string) => {
    working.get(name)!.resolve(`${name} done`);
    await clock.advance(0);
  };
  const fail = async (name: string) => {
    working.get(name)!.reject(new Error("a bug"));
    await clock.advance(0);
  };
  return { clock, capacity, begun, told, use, ask, end, fail };
}

describe("gateway.limits.shared_capacity", () => {
  test("gateway.limits.shared_capacity so many are worked on at once, and the next as one ends", async () => {
    const { capacity, begun, told, ask, end } = openCapacity(2, 5);
    await ask("a1", "b1", "c1");
    expect(begun).toEqual(["a1", "b1"]);
    expect(capacity.status()).toEqual({ inUse: 2, queued: 1 });
    await end("b1");
    expect([begun, told]).toEqual([["a1", "b1", "c1"], ["b1 done"]]);
    await end("a1");
    await end("c1");
    expect(capacity.status()).toEqual({ inUse: 0, queued: 0 });
  });

  test("gateway.limits.shared_capacity accounts take turns in the line", async () => {
    const { begun, ask, end } = openCapacity(1, 5);
    await ask("x1", "a1", "a2", "a3", "b1");
    for (const name of ["x1", "a1", "b1", "a2"]) await end(name);
    expect(begun).toEqual(["x1", "a1", "b1", "a2", "a3"]);
  });

  test("gateway.limits.shared_capacity nobody overtakes the line when a place comes free", async () => {
    const { capacity, begun, ask, end } = openCapacity(1, 5);
    await ask("a1", "b1");
    await end("a1");
    await ask("c1");
    expect(begun).toEqual(["a1", "b1"]);
    expect(capacity.status()).toEqual({ inUse: 1, queued: 1 });
  });

  test("gateway.limits.shared_capacity a full line refuses whose account has the most in it", async () => {
    const { told, ask } = openCapacity(1, 2);
    await ask("x1", "a1", "a2", "a3");
    expect(told).toEqual(["a3 capacity_exceeded 1"]);
    await ask("b1");
    expect(told[1]).toBe("a2 capacity_exceeded 1");
  });

  test("gateway.limits.shared_capacity without a line whoever finds no place is refused at once", async () => {
    const { clock, told, begun, ask, end } = openCapacity(1, 0);
    await ask("a1", "b1");
    expect(told).toEqual(["b1 capacity_exceeded 1"]);
    await end("a1");
    await ask("b2");
    expect(begun).toEqual(["a1", "b2"]);
    expect(clock.pending()).toBe(0);
  });

  test("gateway.limits.shared_capacity who waits for ten seconds is refused, and not before", async () => {
    const { clock, capacity, told, ask } = openCapacity(1, 5);
    await ask("a1", "b1");
    await clock.advance(LATE_MS - 1);
    expect(told).toEqual([]);
    await clock.advance(1);
    expect(told).toEqual(["b1 capacity_exceeded 10"]);
    expect(capacity.status()).toEqual({ inUse: 1, queued: 0 });
  });

  test("gateway.limits.shared_capacity work that throws gives its place back", async () => {
    const { told, begun, ask, fail } = openCapacity(1, 5);
    await ask("a1", "b1");
    await fail("a1");
    expect([told, begun]).toEqual([["a1 a bug"], ["a1", "b1"]]);
  });

  test("gateway.limits.shared_capacity another size holds from the next request on", async () => {
    const { capacity, begun, told, ask, end } = openCapacity(1, 1);
    await ask("a1", "b1");
    capacity.change({ max_concurrent: 2, max_queued: 0 });
    // A place more serves who waits at once.
    expect(capacity.status()).toEqual({ inUse: 2, queued: 0 });
    await ask("c1");
    expect([begun, told]).toEqual([["a1", "b1"], ["c1 capacity_exceeded 1"]]);
    capacity.change({ max_concurrent: 1, max_queued: 1 });
    await ask("d1");
    await end("a1");
    // One too many is still at work: nobody is sent away for the sake of a smaller size.
    expect(begun).toEqual(["a1", "b1"]);
    await end("b1");
    expect(begun).toEqual(["a1", "b1", "d1"]);
  });

  test("gateway.limits.shared_capacity nobody joins a line that a change has closed, and who waits stays", async () => {
    const { capacity, told, ask } = openCapacity(1, 2);
    await ask("x1", "a1", "a2");
    capacity.change({ max_concurrent: 1, max_queued: 0 });
    await ask("b1");
    expect([told, capacity.status().queued]).toEqual([["b1 capacity_exceeded 1"], 2]);
  });
});

describe("gateway.errors.client_closed_request", () => {
  test("gateway.errors.client_closed_request who leaves the line is done with, and nothing is worked on for it", async () => {
    const { clock, capacity, told, begun, use, ask, end } = openCapacity(1, 5);
    const leaving = new AbortController();
    await ask("a1");
    void use("b1", leaving.signal);
    await clock.advance(0);
    leaving.abort();
    await clock.advance(0);
    void use("c1", leaving.signal);
    await clock.advance(0);
    expect(told).toEqual(["b1 client_closed_request", "c1 client_closed_request"]);
    await end("a1");
    // Nor where there is a place.
    void use("d1", leaving.signal);
    await clock.advance(0);
    expect(told.at(-1)).toBe("d1 client_closed_request");
    expect([begun, capacity.status()]).toEqual([["a1"], { inUse: 0, queued: 0 }]);
  });
});

describe("gateway.errors.headers.retry_after", () => {
  const refuseAfter = async (took_ms: number, places: number, queued: number) => {
    const { clock, told, ask, end } = openCapacity(places, queued);
    await ask("x1");
    await clock.advance(took_ms);
    await end("x1");
    for (let n = 0; n < places + queued; n++) await ask(`${String.fromCharCode(97 + n)}1`);
    // Of as many as each of the others, so that nobody gives way.
    await ask("z1");
    return told.at(-1);
  };

  test("gateway.errors.headers.retry_after is how long all that is here will take, in whole seconds", async () => {
    expect(await refuseAfter(4_000, 1, 0)).toBe("z1 capacity_exceeded 4");
    expect(await refuseAfter(4_000, 1, 2)).toBe("z1 capacity_exceeded 12");
    expect(await refuseAfter(4_000, 2, 2)).toBe("z1 capacity_exceeded 8");
    expect(await refuseAfter(4_001, 1, 0)).toBe("z1 capacity_exceeded 5");
  });

  test("gateway.errors.headers.retry_after is at least a second", async () => {
    expect(await refuseAfter(3, 2, 2)).toBe("z1 capacity_exceeded 1");
    expect(await refuseAfter(0, 1, 0)).toBe("z1 capacity_exceeded 1");
  });

  test("gateway.errors.headers.retry_after grows while nothing comes to its end", async () => {
    const { clock, told, ask, end } = openCapacity(2, 0);
    await ask("a1", "b1");
    await clock.advance(40);
    await end("a1");
    await ask("c1");
    await clock.advance(20_000);
    await ask("z1");
    expect(told.at(-1)).toBe("z1 capacity_exceeded 21");
    await end("b1");
    await end("c1");
    await ask("a1", "b1", "z1");
    expect(told.at(-1)).toBe("z1 capacity_exceeded 8");
  });

  test("gateway.errors.headers.retry_after is that of what is at work now, however many were before", async () => {
    const { clock, told, ask, end } = openCapacity(1, 0);
    for (let n = 0; n < 10; n++) {
      await ask("a1");
      await clock.advance(1_000);
      await end("a1");
    }
    await ask("a1");
    await clock.advance(30_000);
    await ask("b1");
    expect(told.at(-1)).toBe("b1 capacity_exceeded 30");
  });

  test("gateway.errors.headers.retry_after follows what requests take lately, the newest by a fifth", async () => {
    const { clock, told, ask, end } = openCapacity(1, 0);
    for (const took_ms of [10_000, 0]) {
      await ask("a1");
      await clock.advance(took_ms);
      await end("a1");
    }
    await ask("a1", "b1");
    expect(told.at(-1)).toBe("b1 capacity_exceeded 8");
  });
});
