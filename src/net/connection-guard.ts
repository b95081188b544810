// Keeps descriptors free: closes connections of clients that are not served, longest idle first.
import { type Cancel, type Clock, yieldToEventLoop } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { WorkerLoop } from "../platform/worker-loop.ts";
import {
  type Address,
  isWithin,
  LOOPBACK,
  type Network,
  nameClient,
  readNetwork,
} from "./ip-address.ts";
import type { ProcessSocket, ProcessSockets } from "./process-sockets.ts";

export interface ConnectionRules {
  /** Descriptors to keep free, but at most a quarter of all. */
  reserved_descriptors: number;
  connections_per_address: number;
  /** Addresses that are not counted, since any client may be behind them. */
  trusted_proxies: readonly string[];
}

export interface ConnectionGuardOptions {
  sockets: ProcessSockets;
  port: number;
  rules(): ConnectionRules;
  listClients(): Clients;
  clock: Clock;
  log: Log;
}

export interface Peer {
  address: Address;
  port: number;
}

export interface Clients {
  /** Clients with a valid key and a request under way. */
  served: readonly Peer[];
  /** Clients that still send the body of a request refused already. */
  refused: readonly Peer[];
}

/** Interval of counting descriptors, which costs 4 µs. */
const CHECK_EVERY_MS = 100;
const CHECK_SOON_MS = 20;
/** Maximum share of the time that is spent on searches through all connections. */
const SEARCH_SHARE = 1 / 20;
/** Number of descriptors searched in one turn of the event loop, about 3 ms. */
const TURN_DESCRIPTORS = 500;
/** Minimum silence of an idle connection, whose next request may be on its way. */
const SILENT_MS = 100;
/** Age within which the first request of a connection may be on its way. */
const NEW_MS = 10;
/** Maximum difference of two measurements of the same moment. */
const SAME_MS = 10;
/** Descriptors searched for each open one: closed ones lie between them. */
const RANGE = 8;
const LOG_EVERY_MS = 10_000;
const RESERVE_SHARE = 1 / 4;
/** Share of all descriptors freed beyond the need, for clients that wait to be accepted. */
const SPARE_SHARE = 1 / 4;

/** Watches until the returned function is called. */
export function guardConnections(options: ConnectionGuardOptions): Cancel {
  const { clock, log } = options;
  const guard = new ConnectionGuard(options);
  const loop = new WorkerLoop({
    clock,
    work: async () => ({ inMs: await guard.check() }),
    onError: (error) => log.error("connections: they could not be checked", { error }),
    retryMs: CHECK_EVERY_MS,
  });
  loop.wakeWithin(CHECK_EVERY_MS);
  return () => void loop.stop();
}

class ConnectionGuard {
  readonly #options: ConnectionGuardOptions;
  #searchAt = 0;
  #begun: BegunRequests = new Map();
  #logAt = 0;
  #closed = 0;

  constructor(options: ConnectionGuardOptions) {
    this.#options = options;
  }

  /** Returns the time until the next check. */
  async check(): Promise<number> {
    const { sockets, rules, listClients, clock } = this.#options;
    const count = sockets.count();
    const { missing, spare } = computeNeed(sockets.limit, count, rules().reserved_descriptors);
    const now = clock.monotonic();
    const mayExceed = count > rules().connections_per_address && now >= this.#searchAt;
    if (missing <= 0 && !mayExceed) return CHECK_EVERY_MS;
    const all = await this.#readAll(count);
    const seenAt = clock.monotonic();
    const search = { all, clients: listClients(), seenAt, begunBefore: this.#begun };
    const chosen = chooseToClose(search, rules(), { missing, spare });
    this.#begun = findBegun(all, seenAt);
    for (const socket of chosen) sockets.end(socket);
    this.#closed += chosen.length;
    this.#searchAt = clock.monotonic() + (clock.monotonic() - now) / SEARCH_SHARE;
    if (missing > 0 || chosen.length > 0) this.#log(count);
    return missing > 0 ? CHECK_SOON_MS : CHECK_EVERY_MS;
  }

  async #readAll(count: number): Promise<ProcessSocket[]> {
    const { sockets, port } = this.#options;
    const found: ProcessSocket[] = [];
    // The system gives out the lowest descriptors, so few lie far above their number.
    const end = Math.min(sockets.limit, RANGE * count);
    for (let from = 0; from < end; from += TURN_DESCRIPTORS) {
      if (from > 0) await yieldToEventLoop();
      found.push(...sockets.list(port, from, Math.min(end, from + TURN_DESCRIPTORS)));
    }
    return found;
  }

  #log(count: number): void {
    const { sockets, clock, log } = this.#options;
    if (clock.monotonic() < this.#logAt) return;
    this.#logAt = clock.monotonic() + LOG_EVERY_MS;
    const fields = { connections: this.#closed, descriptors: `${count} of ${sockets.limit}` };
    log.warn("connections: closed for free descriptors or the limit of an address", fields);
    this.#closed = 0;
  }
}

/** Connections with a request under way, each with the time at which we last sent on it. */
type BegunRequests = ReadonlyMap<string, number>;

function findBegun(all: readonly ProcessSocket[], seenAt: number): BegunRequests {
  const begun = all.filter((one) => one.hasSent && one.receivedAgoMs < one.sentAgoMs);
  return new Map(begun.map((one) => [namePeer(one), seenAt - one.sentAgoMs]));
}

export interface ConnectionSearch {
  all: readonly ProcessSocket[];
  clients: Clients;
  seenAt: number;
  /** Requests that were under way at the search before. */
  begunBefore: BegunRequests;
}

interface Need {
  missing: number;
  /** Further connections to close, so that not every new client causes a search. */
  spare: number;
}

function computeNeed(limit: number, count: number, reserved: number): Need {
  const reserve = Math.min(reserved, Math.floor(limit * RESERVE_SHARE));
  return { missing: reserve - (limit - count), spare: Math.floor(limit * SPARE_SHARE) };
}

/** Ranks in the order of closing; a connection or request that has just begun has none. */
const RANKS = ["refused", "silent", "unanswered", "idle", "stuck"] as const;
type Rank = (typeof RANKS)[number] | null;

function createRank({ clients, seenAt, begunBefore }: ConnectionSearch) {
  const refused = new Set(clients.refused.map(namePeer));
  return (socket: ProcessSocket): Rank => {
    const { hasReceived, hasSent, sentAgoMs, receivedAgoMs } = socket;
    const name = namePeer(socket);
    if (refused.has(name)) return "refused";
    if (!hasSent && sentAgoMs < NEW_MS) return null;
    if (!hasSent) return hasReceived ? "unanswered" : "silent";
    if (Math.min(sentAgoMs, receivedAgoMs) >= SILENT_MS) return "idle";
    const sentBefore = begunBefore.get(name) ?? Number.NaN;
    return Math.abs(seenAt - sentAgoMs - sentBefore) <= SAME_MS ? "stuck" : null;
  };
}

/**
 * Chooses no connection that serves a caller. First come refused ones, then silent ones. Then
 * come those never answered, idle ones, and those whose request stays incomplete. Within each
 * group, the longest idle comes first.
 */
export function chooseToClose(
  search: ConnectionSearch,
  { connections_per_address, trusted_proxies }: ConnectionRules,
  { missing, spare }: Need,
): ProcessSocket[] {
  const { all, clients } = search;
  const served = new Set(clients.served.map(namePeer));
  const unserved = all.filter((one) => !served.has(namePeer(one)));
  const groups = Map.groupBy(unserved, createRank(search));
  // A client that is not served cannot keep its connection by sending single bytes.
  const ordered = RANKS.flatMap((name) =>
    (groups.get(name) ?? []).toSorted((one, other) => other.sentAgoMs - one.sentAgoMs),
  );

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

function namePeer({ address, port }: Peer): string {
  return `${address.bits} ${address.value} ${port}`;
}
