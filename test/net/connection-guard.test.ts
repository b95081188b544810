// Tests which connections are closed when descriptors are scarce or an address has too many.
import { describe, expect, test } from "bun:test";
import {
  type ConnectionRules,
  chooseToClose,
  guardConnections,
} from "../../src/net/connection-guard.ts";
import { readAddress } from "../../src/net/ip-address.ts";
import type { ProcessSocket } from "../../src/net/process-sockets.ts";
import { createLog } from "../../src/platform/log.ts";
import { createManualClock } from "../support/clock.ts";

const RULES = { reserved_descriptors: 4, connections_per_address: 100, trusted_proxies: [] };
const NOW = 1_000_000;
const NONE = { missing: 0, spare: 0 };

let port = 1_000;
function make(
  fields: Partial<Omit<ProcessSocket, "address">> & { from?: string } = {},
): ProcessSocket {
  const { from = "203.0.113.1", ...rest } = fields;
  port += 1;
  const quiet = { hasReceived: false, hasSent: false, receivedAgoMs: 500, sentAgoMs: 500 };
  return { descriptor: port, port, address: readAddress(from)!, ...quiet, ...rest };
}

const choose = (
  all: readonly ProcessSocket[],
  served: readonly ProcessSocket[],
  need = NONE,
  rules: Partial<ConnectionRules> = {},
  refused: readonly ProcessSocket[] = [],
  begunBefore: ReadonlyMap<string, number> = new Map(),
) => {
  const search = { all, clients: { served, refused }, seenAt: NOW, begunBefore };
  return chooseToClose(search, { ...RULES, ...rules }, need).map(({ port }) => port);
};

describe("when descriptors are scarce", () => {
  const served = make({ hasReceived: true, receivedAgoMs: 90_000, sentAgoMs: 90_000 });
  const idle = make({ hasReceived: true, hasSent: true, receivedAgoMs: 30_000, sentAgoMs: 30_000 });
  const asking = make({ hasReceived: true, hasSent: true, receivedAgoMs: 5, sentAgoMs: 40_000 });
  const slow = make({ hasReceived: true, receivedAgoMs: 1, sentAgoMs: 20_000 });
  const silent = make({ receivedAgoMs: 10, sentAgoMs: 10 });
  const longer = make({ receivedAgoMs: 9_000, sentAgoMs: 9_000 });
  const all = [served, idle, asking, slow, silent, longer];

  test("connections that sent nothing are closed first, then unanswered ones, then idle ones", () => {
    const order = [longer, silent, slow, idle].map(({ port }) => port);
    for (let missing = 0; missing <= 4; missing++) {
      expect(choose(all, [served], { missing, spare: 0 })).toEqual(order.slice(0, missing));
    }
  });

  test("a running request, or one that may just have arrived, is not cut off", () => {
    const chosen = choose(all, [served], { missing: 100, spare: 100 });
    expect(chosen).toHaveLength(4);
    expect(chosen).not.toContain(served.port);
    expect(chosen).not.toContain(asking.port);
  });

  test("a refused sender is closed before one whose request may just have come", () => {
    const sending = [7, 900].map((sentAgoMs) =>
      make({ hasReceived: true, hasSent: true, receivedAgoMs: 1, sentAgoMs }),
    );
    const order = [sending[1]!, sending[0]!, longer].map(({ port }) => port);
    const need = { missing: 3, spare: 0 };
    expect(choose([...all, ...sending], [served], need, {}, sending)).toEqual(order);
    expect(choose([...all, ...sending], sending, need, {}, sending)).not.toContain(order[0]);
  });

  test("bytes keep an idle connection open only while its request may become whole", () => {
    const begun = make({ hasReceived: true, hasSent: true, receivedAgoMs: 1, sentAgoMs: 800 });
    const name = `32 ${begun.address.value} ${begun.port}`;
    const need = { missing: 9, spare: 0 };
    const chooseAt = (sentBefore: number) =>
      choose([begun], [], need, {}, [], new Map([[name, sentBefore]]));
    expect(chooseAt(NOW - 800)).toEqual([begun.port]);
    expect(chooseAt(NOW - 790)).toEqual([begun.port]);
    // A reply was sent since the last search.
    expect(chooseAt(NOW - 820)).toEqual([]);
    expect(choose([begun], [], need)).toEqual([]);
  });

  test("a new connection has time to send its request", () => {
    const need = { missing: 9, spare: 0 };
    const ages = [9, 10].map((ageMs) => make({ receivedAgoMs: ageMs, sentAgoMs: ageMs }));
    expect(choose(ages, [], need)).toEqual([ages[1]!.port]);
  });

  test("an idle connection has a tenth of a second for its next request", () => {
    const need = { missing: 9, spare: 0 };
    const idle = [99, 100].map((sentAgoMs) =>
      make({ hasReceived: true, hasSent: true, sentAgoMs }),
    );
    expect(choose(idle, [], need)).toEqual([idle[1]!.port]);
  });

  test("more connections are closed than descriptors are missing, which saves searches", () => {
    expect(choose(all, [], { missing: 1, spare: 2 })).toHaveLength(3);
    expect(choose(all, [], { missing: 0, spare: 2 })).toEqual([]);
  });
});

describe("an address with too many connections", () => {
  const cap = { connections_per_address: 3 };

  test("loses those that have been idle longest, and other addresses lose none", () => {
    const many = [10, 50, 30, 40, 20].map((sentAgoMs) => make({ sentAgoMs }));
    const other = make({ from: "203.0.113.2", sentAgoMs: 99 });
    const chosen = choose([...many, other], [], NONE, cap);
    expect(chosen).toEqual([many[1]!.port, many[3]!.port]);
  });

  test("counts its requests under way, which are not closed", () => {
    const busy = Array.from({ length: 5 }, () => make({ hasReceived: true }));
    const idle = make();
    expect(choose([...busy, idle], busy, NONE, cap)).toEqual([idle.port]);
  });

  test("has no limit where it is loopback or a trusted proxy", () => {
    for (const from of ["127.0.0.1", "127.3.2.1", "::1", "10.1.2.3"]) {
      const many = Array.from({ length: 9 }, () => make({ from }));
      expect(choose(many, [], NONE, { ...cap, trusted_proxies: ["10.0.0.0/8"] })).toEqual([]);
    }
  });

  test("is a /64 where it is IPv6", () => {
    const many = ["::1", "::2", "::3", "::4"].map((end) => make({ from: `2001:db8:1:2${end}` }));
    const other = make({ from: "2001:db8:1:3::1" });
    expect(choose([...many, other], [], NONE, cap)).toHaveLength(1);
  });
});

test("no search happens while enough descriptors are free, and a flood is one log line", async () => {
  const clock = createManualClock();
  const lines: Record<string, unknown>[] = [];
  const open = [make(), make(), make()];
  const ended: ProcessSocket[] = [];
  let searches = 0;
  let count = 10;
  const cancel = guardConnections({
    sockets: {
      limit: 20,
      count: () => count,
      list(_, from) {
        searches += 1;
        return from === 0 ? open : [];
      },
      end: (socket) => void ended.push(socket),
    },
    port: 80,
    rules: () => RULES,
    listClients: () => ({ served: [open[0]!], refused: [] }),
    clock,
    log: createLog(clock, (line) => void lines.push(JSON.parse(line)), false),
  });
  await clock.advance(10_000);
  expect([searches, ended, lines]).toEqual([0, [], []]);
  count = 18;
  await clock.advance(100);
  expect(ended).toEqual([open[1]!, open[2]!]);
  await clock.advance(1_000);
  expect(lines).toEqual([
    expect.objectContaining({ level: "warn", connections: 2, descriptors: "18 of 20" }),
  ]);
  cancel();
  const before = searches;
  await clock.advance(10_000);
  expect(searches).toBe(before);
  expect(clock.pending()).toBe(0);
});

test("a request that is still incomplete at the next search is closed", async () => {
  const clock = createManualClock();
  const begunAt = clock.monotonic();
  const one = make({ hasReceived: true, hasSent: true, receivedAgoMs: 5 });
  const ended: number[] = [];
  const cancel = guardConnections({
    sockets: {
      limit: 20,
      count: () => 18,
      list: (_, from) => (from === 0 ? [{ ...one, sentAgoMs: clock.monotonic() - begunAt }] : []),
      end: ({ port }) => void ended.push(port),
    },
    port: 80,
    rules: () => RULES,
    listClients: () => ({ served: [], refused: [] }),
    clock,
    log: createLog(clock, () => undefined, false),
  });
  await clock.advance(100);
  expect(ended).toEqual([]);
  await clock.advance(20);
  expect(ended).toEqual([one.port]);
  cancel();
});

/** Watches `sockets`; `search` is called for each part of a search, with its descriptors. */
function watch(
  fields: { limit?: number; rules?: Partial<ConnectionRules> },
  search: (from: number, to: number) => readonly ProcessSocket[],
) {
  const clock = createManualClock();
  const lines: Record<string, unknown>[] = [];
  const seen = { count: 0, spentMs: 0, ended: [] as number[], lines };
  const cancel = guardConnections({
    sockets: {
      limit: fields.limit ?? 20,
      count: () => seen.count,
      list: (_, from, to) => [...search(from, to)],
      end: ({ port }) => void seen.ended.push(port),
    },
    port: 80,
    rules: () => ({ ...RULES, ...fields.rules }),
    listClients: () => ({ served: [], refused: [] }),
    clock: { ...clock, monotonic: () => clock.monotonic() + seen.spentMs },
    log: createLog(clock, (line) => void lines.push(JSON.parse(line)), false),
  });
  return { clock, seen, cancel };
}

test("descriptors are scarce from one below the reserve on, of a quarter at most", async () => {
  for (const [reserved_descriptors, enough] of [
    [4, 16],
    [10, 15],
  ] as const) {
    let searches = 0;
    const { clock, seen, cancel } = watch({ rules: { reserved_descriptors } }, () => {
      searches += 1;
      return [];
    });
    seen.count = enough;
    await clock.advance(100);
    expect(searches).toBe(0);
    seen.count = enough + 1;
    await clock.advance(100);
    expect(searches).toBe(1);
    cancel();
  }
});

test("an address may have too many from one beyond the limit on; a search takes a twentieth of the time", async () => {
  let searches = 0;
  const { clock, seen, cancel } = watch({ rules: { connections_per_address: 9 } }, () => {
    searches += 1;
    seen.spentMs += 50;
    return [];
  });
  seen.count = 9;
  await clock.advance(1_000);
  expect(searches).toBe(0);
  seen.count = 10;
  await clock.advance(100);
  expect(searches).toBe(1);
  await clock.advance(900);
  expect(searches).toBe(1);
  await clock.advance(200);
  expect(searches).toBe(2);
  cancel();
});

test("a search reads 500 descriptors a turn, eight for each open one", async () => {
  const parts: [from: number, to: number, turn: number][] = [];
  let turn = 0;
  const { clock, seen, cancel } = watch(
    { limit: 10_000, rules: { connections_per_address: 99 } },
    (from, to) => {
      parts.push([from, to, turn]);
      setImmediate(() => {
        turn += 1;
      });
      return [];
    },
  );
  seen.count = 100;
  await clock.advance(100);
  expect(parts).toEqual([
    [0, 500, 0],
    [500, 800, 1],
  ]);
  cancel();
});
test("each line of a flood tells of the connections closed since the one before", async () => {
  const { clock, seen, cancel } = watch({}, (from) => (from === 0 ? [make(), make()] : []));
  seen.count = 18;
  await clock.advance(100);
  await clock.advance(10_000);
  cancel();
  const [first, second] = seen.lines.map(({ connections }) => connections);
  expect([first, second]).toEqual([2, seen.ended.length - 2]);
});

test("a request that came before the first reply is no incomplete one", async () => {
  const begun = make({ hasReceived: true, receivedAgoMs: 1, sentAgoMs: 5 });
  const states = [begun, { ...begun, hasSent: true, sentAgoMs: 22 }];
  const { clock, seen, cancel } = watch({}, (from) => (from === 0 ? states.splice(0, 1) : []));
  seen.count = 18;
  await clock.advance(100);
  await clock.advance(20);
  expect([states, seen.ended]).toEqual([[], []]);
  cancel();
});
