// Clients: the name that each is counted under, and the connections of requests under way.
import {
  type Address,
  isWithin,
  type Network,
  nameClient,
  readAddress,
  readNetwork,
} from "../net/index.ts";

/** Name of requests without a socket. */
const NOWHERE = "nowhere";

/** IPv4 within IPv6: ::ffff:0:0/96. */
const MAPPED: Network = readNetwork("::ffff:0:0/96")!;

/** Pattern of an address with brackets, behind which some proxies write the port. */
const BRACKETED = /^\[([0-9a-fA-F:.]+)\](?::[0-9]{1,5})?$/;
const V4_WITH_PORT = /^([0-9.]+):[0-9]{1,5}$/;
const ENTRY_CHARACTERS_MAX = 64;

/** Headers by which proxies name themselves, the client, or the address that it asked. */
const FORWARDED = [
  ...["forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-host"],
  ...["x-forwarded-proto", "x-forwarded-port", "x-forwarded-server"],
];

/** Number of requests beyond which ended ones are removed. */
const REQUESTS_KEPT = 256;

/** Tells a request that a proxy has passed on, unless the proxy hides that. */
export function isForwarded(headers: Headers): boolean {
  return FORWARDED.some((name) => headers.has(name));
}

export type NameClient = (peer: string | null, forwarded: string | null) => string;

/** `trusted` lists addresses and networks whose X-Forwarded-For is believed. */
export function createNameClient(trusted: readonly string[]): NameClient {
  const networks = trusted.map((text) => readNetwork(text)!);
  const isTrusted = (address: Address) => networks.some((one) => isWithin(address, one));

  return (peer, forwarded) => {
    if (peer === null) return NOWHERE;
    // Most peers are plain IPv4 without a proxy.
    if (networks.length === 0 && !peer.includes(":")) return peer;
    const address = readPeer(peer);
    if (!address) return peer;
    if (forwarded === null || !isTrusted(address)) return nameClient(address);
    return nameClient(findClient(forwarded, isTrusted) ?? address);
  };
}

/**
 * Returns the last address that is no trusted proxy: entries before it can be forged. Returns null
 * if the entry is no address.
 */
function findClient(forwarded: string, isTrusted: (address: Address) => boolean): Address | null {
  let last: Address | null = null;
  for (let end = forwarded.length; end >= 0; ) {
    const comma = forwarded.lastIndexOf(",", end - 1);
    last = readEntry(forwarded.slice(comma + 1, end).trim());
    if (!last || !isTrusted(last)) return last;
    end = comma;
  }
  return last;
}

function readEntry(text: string): Address | null {
  if (text.length > ENTRY_CHARACTERS_MAX) return null;
  return readPeer((BRACKETED.exec(text) ?? V4_WITH_PORT.exec(text))?.[1] ?? text);
}

function readPeer(text: string): Address | null {
  const address = readAddress(text);
  if (!address || !isWithin(address, MAPPED)) return address;
  return { bits: 32, value: address.value & 0xffff_ffffn };
}

/** A set of requests that removes ended ones. */
export class OpenRequests {
  readonly #findSent: (request: Request) => Request;
  readonly #findPeer: (sent: Request) => Bun.SocketAddress | null;
  readonly #requests = new Set<Request>();
  #sizeMax = REQUESTS_KEPT;

  /** `findPeer` returns null once a request is over. */
  constructor(
    findSent: (request: Request) => Request,
    findPeer: (sent: Request) => Bun.SocketAddress | null,
  ) {
    this.#findSent = findSent;
    this.#findPeer = findPeer;
  }

  add(request: Request): void {
    this.#requests.add(this.#findSent(request));
    if (this.#requests.size < this.#sizeMax) return;
    this.list();
    this.#sizeMax = 2 * this.#requests.size + REQUESTS_KEPT;
  }

  /** Removes an answered request; streams drop out by themselves. */
  delete(request: Request): void {
    this.#requests.delete(this.#findSent(request));
  }

  list(): { address: Address; port: number }[] {
    return [...this.#requests].flatMap((sent) => {
      const peer = this.#findPeer(sent);
      const address = peer && readPeer(peer.address);
      if (peer && address) return [{ address, port: peer.port }];
      this.#requests.delete(sent);
      return [];
    });
  }
}
