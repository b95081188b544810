// Keeps descriptors free: closes connections of those who are not served, the longest idle first.
import { type Cancel, type Clock, nextTurn } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { type Address, isWithin, type Network, readNetwork } from "./network.ts";
import type { ProcessSocket, ProcessSockets } from "./process-sockets.ts";

export interface ConnectionRules {
  /** So many descriptors stay free, but at most a quarter of all. */
  reserved_descriptors: number;
  connections_per_address: number;
  /** Behind them anybody may be: they are not counted. */
  trusted_proxies: readonly string[];
}

export interface ConnectionGuardOptions {
  sockets: ProcessSockets;
  /** The port whose connections are looked at. */
  port: number;
  rules(): ConnectionRules;
  /** The other sides of requests under way whose key was found good. */
  listCallers(): readonly Peer[];
  clock: Clock;
  log: Log;
}

export interface Peer {
  address: Address;
  port: number;
}

/** How often the number of descriptors is read, which costs 4 µs. */
const LOOK_EVERY_MS = 100;
/** The same while connections are being closed. */
const LOOK_SOON_MS = 20;
/** Of the time between two searches through all connections a search takes at most so much. */
const SEARCH_SHARE = 1 / 20;
/** Descriptors in one turn of the event loop, about 3 ms. */
const TURN_DESCRIPTORS = 500;
/** A shorter silence may be that of a request which is on its way. */
const SILENT_MS = 100;
/** Descriptors that are looked at for each that is open. */
const RANGE = 8;
const SAY_EVERY_MS = 10_000;
const RESERVE_SHARE = 1 / 4;
/** Of all descriptors so many more are freed at a time: what waits to be accepted must fit. */
const SPARE_SHARE = 1 / 4;
const SUBSCRIBER_BITS = 64n;
const LOOPBACK = [readNetwork("127.0.0.0/8")!, readNetwork("::1")!];

/** Watches until what it returns is called. */
export function guardConnections(options: ConnectionGuardOptions): Cancel {
  const { sockets, port, rules, listCallers, clock, log } = options;
  let isOver = false;
  let cancel: Cancel = () => {};
  let searchAt = 0;
  let sayAt = 0;
  let closed = 0;

  const readAll = async (count: number): Promise<ProcessSocket[]> => {
    const found: ProcessSocket[] = [];
    // Descriptors are given out from the lowest: few lie far above their number.
    const end = Math.min(sockets.limit, RANGE * count);
    for (let from = 0; from < end; from += TURN_DESCRIPTORS) {
      if (from > 0) await nextTurn();
      found.push(...sockets.list(port, from, Math.min(end, from + TURN_DESCRIPTORS)));
    }
    return found;
  };
  const look = async (): Promise<number> => {
    const count = sockets.count();
    const { missing, spare } = reckonNeed(sockets.limit, count, rules().reserved_descriptors);
    const now = clock.monotonic();
    const mayExceed = count > rules().connections_per_address && now >= searchAt;
    if (missing <= 0 && !mayExceed) return LOOK_EVERY_MS;
    const all = await readAll(count);
    const chosen = chooseToClose(all, listCallers(), rules(), { missing, spare });
    for (const socket of chosen) sockets.end(socket);
    closed += chosen.length;
    searchAt = clock.monotonic() + (clock.monotonic() - now) / SEARCH_SHARE;
    if (missing > 0 || chosen.length > 0) say(count);
    return missing > 0 ? LOOK_SOON_MS : LOOK_EVERY_MS;
  };
  const say = (count: number) => {
    if (clock.monotonic() < sayAt) return;
    sayAt = clock.monotonic() + SAY_EVERY_MS;
    const fields = { connections: closed, descriptors: `${count} of ${sockets.limit}` };
    log.warn("descriptors are scarce, or an address has too many: connections are closed", fields);
    closed = 0;
  };
  const lookLater = (delay_ms: number) => {
    cancel = clock.after(delay_ms, () => {
      look()
        .catch((error) => {
          log.error("the connections could not be looked at", { error });
          return LOOK_EVERY_MS;
        })
        .then((next_ms) => isOver || lookLater(next_ms));
    });
  };
  lookLater(LOOK_EVERY_MS);
  return () => {
    isOver = true;
    cancel();
  };
}

interface Need {
  /** So many have to be closed; below 1: none. */
  missing: number;
  /** So many more are closed then, that not each new one is a search. */
  spare: number;
}

function reckonNeed(limit: number, count: number, reserved: number): Need {
  const reserve = Math.min(reserved, Math.floor(limit * RESERVE_SHARE));
  return { missing: reserve - (limit - count), spare: Math.floor(limit * SPARE_SHARE) };
}

/**
 * Never a connection with a request of a good key. Those that sent nothing go first, then those
 * that were never answered, then the idle ones; of each the longest idle.
 */
export function chooseToClose(
  all: readonly ProcessSocket[],
  callers: readonly Peer[],
  { connections_per_address, trusted_proxies }: ConnectionRules,
  { missing, spare }: Need,
): ProcessSocket[] {
  const served = new Set(callers.map(namePeer));
  const open = all.filter((socket) => !served.has(namePeer(socket)));
  const silent = open.filter((one) => !one.hasReceived);
  const unanswered = open.filter((one) => one.hasReceived && !one.hasSent);
  const idle = open.filter(
    (one) => one.hasSent && Math.min(one.sent_ago, one.received_ago) >= SILENT_MS,
  );
  // How long they drip does not count, but how long nobody has answered them.
  const ordered = [
    ...sortBy(silent, "received_ago"),
    ...sortBy(unanswered, "sent_ago"),
    ...sortBy(idle, "sent_ago"),
  ];

  const exempt = [...LOOPBACK, ...trusted_proxies.map((text) => readNetwork(text)!)];
  const surplus = countSurplus(all, connections_per_address, exempt);
  const chosen = new Set<ProcessSocket>();
  for (const socket of ordered) {
    const name = nameClient(socket.address);
    const more = surplus.get(name) ?? 0;
    if (more > 0) chosen.add(socket);
    surplus.set(name, more - 1);
  }
  if (missing <= 0) return [...chosen];
  for (const socket of ordered) if (chosen.size < missing + spare) chosen.add(socket);
  return [...chosen];
}

/** By how many connections a client has more than it may. */
function countSurplus(
  all: readonly ProcessSocket[],
  most: number,
  exempt: readonly Network[],
): Map<string, number> {
  const counts = new Map<string, number>();
  if (all.length <= most) return counts;
  for (const { address } of all) {
    if (exempt.some((network) => isWithin(address, network))) continue;
    const name = nameClient(address);
    counts.set(name, (counts.get(name) ?? -most) + 1);
  }
  return counts;
}

function sortBy(
  sockets: readonly ProcessSocket[],
  age: "received_ago" | "sent_ago",
): ProcessSocket[] {
  return sockets.toSorted((one, other) => other[age] - one[age]);
}

function namePeer({ address, port }: Peer): string {
  return `${address.bits} ${address.value} ${port}`;
}

/** A subscriber has at least a /64 of IPv6: all of it is one client. */
function nameClient({ bits, value }: Address): string {
  return bits === 32 ? `${value}` : `${value >> SUBSCRIBER_BITS}/64`;
}
