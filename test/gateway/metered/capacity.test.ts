// Tests the shared capacity of all accounts: slots, the queue, and Retry-After.
import { describe, expect, test } from "bun:test";
import { Capacity } from "../../../src/gateway/metered/capacity.ts";
import { CapacityGroup } from "../../../src/gateway/metered/capacity-group.ts";
import { ApiError } from "../../../src/platform/errors.ts";
import { createManualClock } from "../../support/clock.ts";

const LATE_MS = 10_000;

/** A capacity whose work a test ends; `outcomes` has the outcome of each request. */
function openCapacity(max_concurrent: number, max_queued: number) {
  const clock = createManualClock();
  const capacity = new Capacity(clock, { max_concurrent, max_queued });
  const begun: string[] = [];
  const outcomes: string[] = [];
  const working = new Map<string, PromiseWithResolvers<string>>();
  const use = async (name: string, signal = new AbortController().signal) => {
    const work = () => {
      begun.push(name);
      const held = Promise.withResolvers<string>();
      working.set(name, held);
      return held.promise;
    };
    try {
      outcomes.push(await capacity.use(name[0]!, signal, work));
    } catch (failure) {
      const { code, details: say } = failure as ApiError;
      const why = failure instanceof ApiError ? code : (failure as Error).message;
      outcomes.push([name, why, say?.headers?.["retry-after"]].filter(Boolean).join(" "));
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
  return { clock, capacity, begun, outcomes, use, ask, end, fail };
}

describe("gateway.limits.shared_capacity", () => {
  test("gateway.limits.shared_capacity limits concurrent requests, and admits the next as one ends", async () => {
    const { capacity, begun, outcomes, ask, end } = openCapacity(2, 5);
    await ask("a1", "b1", "c1");
    expect(begun).toEqual(["a1", "b1"]);
    expect(capacity.status()).toEqual({ inUse: 2, queued: 1 });
    await end("b1");
    expect([begun, outcomes]).toEqual([["a1", "b1", "c1"], ["b1 done"]]);
    await end("a1");
    await end("c1");
    expect(capacity.status()).toEqual({ inUse: 0, queued: 0 });
  });

  test("gateway.limits.shared_capacity accounts take turns in the queue", async () => {
    const { begun, ask, end } = openCapacity(1, 5);
    await ask("x1", "a1", "a2", "a3", "b1");
    for (const name of ["x1", "a1", "b1", "a2"]) await end(name);
    expect(begun).toEqual(["x1", "a1", "b1", "a2", "a3"]);
  });

  test("gateway.limits.shared_capacity no request overtakes the queue when a slot becomes free", async () => {
    const { capacity, begun, ask, end } = openCapacity(1, 5);
    await ask("a1", "b1");
    await end("a1");
    await ask("c1");
    expect(begun).toEqual(["a1", "b1"]);
    expect(capacity.status()).toEqual({ inUse: 1, queued: 1 });
  });

  test("gateway.limits.shared_capacity a full queue refuses the account with the most requests in it", async () => {
    const { outcomes, ask } = openCapacity(1, 2);
    await ask("x1", "a1", "a2", "a3");
    expect(outcomes).toEqual(["a3 capacity_exceeded 1"]);
    await ask("b1");
    expect(outcomes[1]).toBe("a2 capacity_exceeded 1");
  });

  test("gateway.limits.shared_capacity without a queue a request without a free slot is refused at once", async () => {
    const { clock, outcomes, begun, ask, end } = openCapacity(1, 0);
    await ask("a1", "b1");
    expect(outcomes).toEqual(["b1 capacity_exceeded 1"]);
    await end("a1");
    await ask("b2");
    expect(begun).toEqual(["a1", "b2"]);
    expect(clock.pending()).toBe(0);
  });

  test("gateway.limits.shared_capacity a request is refused after ten seconds of waiting, and not before", async () => {
    const { clock, capacity, outcomes, ask } = openCapacity(1, 5);
    await ask("a1", "b1");
    await clock.advance(LATE_MS - 1);
    expect(outcomes).toEqual([]);
    await clock.advance(1);
    expect(outcomes).toEqual(["b1 capacity_exceeded 10"]);
    expect(capacity.status()).toEqual({ inUse: 1, queued: 0 });
  });

  test("gateway.limits.shared_capacity work that throws releases its slot", async () => {
    const { outcomes, begun, ask, fail } = openCapacity(1, 5);
    await ask("a1", "b1");
    await fail("a1");
    expect([outcomes, begun]).toEqual([["a1 a bug"], ["a1", "b1"]]);
  });

  test("gateway.limits.shared_capacity a changed size applies from the next request on", async () => {
    const { capacity, begun, outcomes, ask, end } = openCapacity(1, 1);
    await ask("a1", "b1");
    capacity.change({ max_concurrent: 2, max_queued: 0 });
    // An added slot serves a queued request at once.
    expect(capacity.status()).toEqual({ inUse: 2, queued: 0 });
    await ask("c1");
    expect([begun, outcomes]).toEqual([["a1", "b1"], ["c1 capacity_exceeded 1"]]);
    capacity.change({ max_concurrent: 1, max_queued: 1 });
    await ask("d1");
    await end("a1");
    // One request too many still runs: a lower size aborts none.
    expect(begun).toEqual(["a1", "b1"]);
    await end("b1");
    expect(begun).toEqual(["a1", "b1", "d1"]);
  });

  test("gateway.limits.shared_capacity more requests join a queue that a change has made longer", async () => {
    const { capacity, outcomes, ask } = openCapacity(1, 1);
    await ask("x1", "a1");
    capacity.change({ max_concurrent: 1, max_queued: 2 });
    await ask("b1");
    expect([outcomes, capacity.status().queued]).toEqual([[], 2]);
  });

  test("gateway.limits.shared_capacity no request joins a queue that a change has closed, and the queued ones stay", async () => {
    const { capacity, outcomes, ask } = openCapacity(1, 2);
    await ask("x1", "a1", "a2");
    capacity.change({ max_concurrent: 1, max_queued: 0 });
    await ask("b1");
    expect([outcomes, capacity.status().queued]).toEqual([["b1 capacity_exceeded 1"], 2]);
  });
});

describe("gateway.errors.client_closed_request", () => {
  test("gateway.errors.client_closed_request a caller who leaves the queue is answered, and no work is done for it", async () => {
    const { clock, capacity, outcomes, begun, use, ask, end } = openCapacity(1, 5);
    const leaving = new AbortController();
    await ask("a1");
    void use("b1", leaving.signal);
    await clock.advance(0);
    leaving.abort();
    await clock.advance(0);
    void use("c1", leaving.signal);
    await clock.advance(0);
    expect(outcomes).toEqual(["b1 client_closed_request", "c1 client_closed_request"]);
    await end("a1");
    // The same with a free slot.
    void use("d1", leaving.signal);
    await clock.advance(0);
    expect(outcomes.at(-1)).toBe("d1 client_closed_request");
    expect([begun, capacity.status()]).toEqual([["a1"], { inUse: 0, queued: 0 }]);
  });
});

describe("gateway.errors.headers.retry_after", () => {
  const refuseAfter = async (tookMs: number, places: number, queued: number) => {
    const { clock, outcomes, ask, end } = openCapacity(places, queued);
    await ask("x1");
    await clock.advance(tookMs);
    await end("x1");
    for (let n = 0; n < places + queued; n++) await ask(`${String.fromCharCode(97 + n)}1`);
    // Every account has an equal number, so none is dropped.
    await ask("z1");
    return outcomes.at(-1);
  };

  test("gateway.errors.headers.retry_after is the expected time of all present requests, in whole seconds", async () => {
    expect(await refuseAfter(4_000, 1, 0)).toBe("z1 capacity_exceeded 4");
    expect(await refuseAfter(4_000, 1, 2)).toBe("z1 capacity_exceeded 12");
    expect(await refuseAfter(4_000, 2, 2)).toBe("z1 capacity_exceeded 8");
    expect(await refuseAfter(4_001, 1, 0)).toBe("z1 capacity_exceeded 5");
  });

  test("gateway.errors.headers.retry_after is at least a second", async () => {
    expect(await refuseAfter(3, 2, 2)).toBe("z1 capacity_exceeded 1");
    expect(await refuseAfter(0, 1, 0)).toBe("z1 capacity_exceeded 1");
  });

  test("gateway.errors.headers.retry_after grows while no request ends", async () => {
    const { clock, outcomes, ask, end } = openCapacity(2, 0);
    await ask("a1", "b1");
    await clock.advance(40);
    await end("a1");
    await ask("c1");
    await clock.advance(20_000);
    await ask("z1");
    expect(outcomes.at(-1)).toBe("z1 capacity_exceeded 21");
    await end("b1");
    await end("c1");
    await ask("a1", "b1", "z1");
    expect(outcomes.at(-1)).toBe("z1 capacity_exceeded 8");
  });

  test("gateway.errors.headers.retry_after follows the current request, whatever came before", async () => {
    const { clock, outcomes, ask, end } = openCapacity(1, 0);
    for (let n = 0; n < 10; n++) {
      await ask("a1");
      await clock.advance(1_000);
      await end("a1");
    }
    await ask("a1");
    await clock.advance(30_000);
    await ask("b1");
    expect(outcomes.at(-1)).toBe("b1 capacity_exceeded 30");
  });

  test("gateway.errors.headers.retry_after follows the recent durations, weighting the newest by a fifth", async () => {
    const { clock, outcomes, ask, end } = openCapacity(1, 0);
    for (const tookMs of [10_000, 0]) {
      await ask("a1");
      await clock.advance(tookMs);
      await end("a1");
    }
    await ask("a1", "b1");
    expect(outcomes.at(-1)).toBe("b1 capacity_exceeded 8");
  });
});

describe("gateway.limits.shared_capacity another process decides on the slots", () => {
  /** An old process with two of three slots in use, and the new one that takes over. */
  async function handOver() {
    const old = openCapacity(3, 5);
    const next = openCapacity(3, 5);
    await old.ask("a1", "a2");
    next.capacity.import(old.capacity.status().inUse);
    old.capacity.follow({
      take: async () => next.capacity.takeElsewhere(),
      release: () => next.capacity.releaseElsewhere(),
    });
    return { old, next };
  }

  test("so that both together never use more, and an ended request frees a slot for the other", async () => {
    const { old, next } = await handOver();
    await next.ask("b1", "b2");
    expect(next.begun).toEqual(["b1"]);
    await old.ask("c1");
    expect(old.outcomes).toEqual(["c1 capacity_exceeded 1"]);
    await old.end("a1");
    expect(next.begun).toEqual(["b1", "b2"]);
    await next.end("b1");
    await old.ask("c2");
    expect(old.begun).toEqual(["a1", "a2", "c2"]);
    await next.ask("b3");
    expect(next.begun).toEqual(["b1", "b2"]);
  });

  test("whose slots count in Retry-After, and serve the queue once it has ended", async () => {
    const { clock, capacity, begun, ask, end } = openCapacity(3, 5);
    await ask("a1");
    await clock.advance(3_000);
    await end("a1");
    capacity.import(3);
    expect(capacity.freeInMs()).toBe(3_000);
    await ask("b1");
    expect(begun).toEqual(["a1"]);
    capacity.import(0);
    await clock.advance(0);
    expect(begun).toEqual(["a1", "b1"]);
  });

  test("but requests that waited before get the slots of requests that end here", async () => {
    const old = openCapacity(1, 5);
    const next = openCapacity(1, 5);
    await old.ask("a1", "a2");
    next.capacity.import(1);
    old.capacity.follow({
      take: async () => next.capacity.takeElsewhere(),
      release: () => next.capacity.releaseElsewhere(),
    });
    await next.ask("b1");
    await old.end("a1");
    expect([old.begun, next.begun]).toEqual([["a1", "a2"], []]);
    await old.end("a2");
    expect(next.begun).toEqual(["b1"]);
  });

  test("and decides here where the new process has just ended", async () => {
    const old = openCapacity(1, 5);
    old.capacity.follow({ take: () => Promise.reject(new Error("closed")), release() {} });
    await old.ask("a1");
    expect(old.begun).toEqual(["a1"]);
  });

  test("until the new process has ended, after which the old one decides again", async () => {
    const { old, next } = await handOver();
    await next.ask("b1");
    old.capacity.follow(null);
    await old.ask("c1", "c2");
    expect(old.begun).toEqual(["a1", "a2", "c1"]);
    expect(old.capacity.status()).toEqual({ inUse: 3, queued: 1 });
  });
});

describe("gateway.limits.shared_capacity several processes share the slots", () => {
  /** Two processes with one slot in sum, each with a line of its own. */
  function share() {
    let taken = 0;
    const leader = {
      take: async (max: number) => taken < max && ++taken > 0,
      release: () => void taken--,
    };
    const both = [openCapacity(1, 5), openCapacity(1, 5)] as const;
    for (const { capacity } of both) capacity.follow(leader, true);
    return both;
  }

  test("so that one that waits gets the slot that the other gives back", async () => {
    const [one, other] = share();
    await one.ask("a1");
    await other.ask("b1");
    expect(other.begun).toEqual([]);
    await one.end("a1");
    await other.clock.advance(100);
    expect(other.begun).toEqual(["b1"]);
  });

  test("until this process decides alone, which serves its line at once", async () => {
    const { capacity, begun, ask, clock } = openCapacity(1, 5);
    capacity.follow({ take: async () => false, release() {} }, true);
    await ask("a1");
    expect(begun).toEqual([]);
    capacity.follow(null);
    await clock.advance(0);
    expect(begun).toEqual(["a1"]);
  });

  test("so that a slot for a caller who left meanwhile is given back", async () => {
    const { capacity, use, clock } = openCapacity(1, 5);
    const asked = [Promise.resolve(false)];
    let released = 0;
    capacity.follow({ take: () => asked.pop()!, release: () => void released++ }, true);
    const leaving = new AbortController();
    const done = use("a1", leaving.signal);
    const late = Promise.withResolvers<boolean>();
    await clock.advance(0);
    asked.push(late.promise);
    await clock.advance(100);
    leaving.abort();
    late.resolve(true);
    await done;
    await clock.advance(0);
    expect([released, capacity.status()]).toEqual([1, { inUse: 0, queued: 0 }]);
  });

  test("so that a slot goes to the line of its process for a second, and then to the other's", async () => {
    const [one, other] = share();
    await one.ask("a1");
    await one.end("a1");
    await one.ask("a2", "a3", "a4");
    await other.ask("b1");
    await one.end("a2");
    await other.clock.advance(100);
    expect([one.begun, other.begun]).toEqual([["a1", "a2", "a3"], []]);
    await one.clock.advance(1_000);
    await one.end("a3");
    await other.clock.advance(100);
    expect([one.begun, other.begun]).toEqual([["a1", "a2", "a3"], ["b1"]]);
    await other.end("b1");
    await one.clock.advance(100);
    expect(one.begun).toEqual(["a1", "a2", "a3", "a4"]);
  });
});

describe("the capacities of a process", () => {
  const openGroup = () => {
    const search = new Capacity(createManualClock(), { max_concurrent: 1, max_queued: 0 });
    return { search, group: new CapacityGroup({ search }) };
  };

  test("are free where the process before tells of none, and unbounded of services it lacks", () => {
    const { group } = openGroup();
    group.import({});
    expect([group.take("search"), group.take("search"), group.take("embeddings")]).toEqual([
      ...[true, false, true],
    ]);
    group.release("search");
    group.import({ search: 1 });
    expect(group.take("search")).toBe(false);
  });

  test("that all processes share are decided by no takeover", async () => {
    const { search, group } = openGroup();
    const taken: string[] = [];
    const leader = (name: string) => ({
      async take(service: string) {
        taken.push(`${name} ${service}`);
        return true;
      },
      release() {},
    });
    group.share(leader("all"));
    group.follow(leader("one"));
    await search.use("a-1", new AbortController().signal, async () => {});
    expect(taken).toEqual(["all search"]);
  });
});
