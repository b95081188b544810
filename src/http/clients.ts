// Where a request comes from: its peer, or what the operator's own proxies say of theirs.
import { type Address, isWithin, type Network, readAddress, readNetwork } from "../net/index.ts";

/** Of a request whose socket is gone, or that never had one. */
const NOWHERE = "nowhere";

/** IPv4 within IPv6: ::ffff:0:0/96. */
const MAPPED: Network = readNetwork("::ffff:0:0/96")!;
/** A subscriber has at least a /64 of IPv6: all of it counts as one client. */
const SUBSCRIBER_BITS = 64n;

/** Some proxies write the port as well. */
const BRACKETED = /^\[([0-9a-fA-F:.]+)\](?::[0-9]{1,5})?$/;
const V4_WITH_PORT = /^([0-9.]+):[0-9]{1,5}$/;
const ENTRY_CHARACTERS_MAX = 64;

/** The name under which a client is counted. */
export type NameClient = (peer: string | null, forwarded: string | null) => string;

/** `trusted`: addresses and networks whose X-Forwarded-For is believed. */
export function createNameClient(trusted: readonly string[]): NameClient {
  const networks = trusted.map((text) => readNetwork(text)!);
  const isTrusted = (address: Address) => networks.some((one) => isWithin(address, one));

  return (peer, forwarded) => {
    if (peer === null) return NOWHERE;
    // Most peers are plain IPv4 without a proxy: there is nothing to work out.
    if (networks.length === 0 && !peer.includes(":")) return peer;
    const address = readPeer(peer);
    if (!address) return peer;
    if (forwarded === null || !isTrusted(address)) return nameAddress(address);
    return nameAddress(findClient(forwarded, isTrusted) ?? address);
  };
}

/**
 * The last that no proxy of the operator's stands behind: what is left of it anybody may have
 * written. null: the list is not one of addresses.
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

/** An IPv4 address within IPv6 is that IPv4 address. */
function readPeer(text: string): Address | null {
  const address = readAddress(text);
  if (!address || !isWithin(address, MAPPED)) return address;
  return { bits: 32, value: address.value & 0xffff_ffffn };
}

/** IPv4 as it is written; IPv6 by the network of its subscriber. */
function nameAddress({ bits, value }: Address): string {
  if (bits === 128) return `${(value >> SUBSCRIBER_BITS).toString(16).padStart(16, "0")}/64`;
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join(".");
}

export interface ActiveCallers {
  add(request: Request): void;
  /** It was answered; a stream is forgotten by itself once it is over. */
  delete(request: Request): void;
  /** The other sides of their connections. */
  list(): { address: Address; port: number }[];
}

/** Between two looks for streams that are over so many more may come. */
const MORE = 256;

/** `findPeer`: null where a request is over. */
export function createActiveCallers(
  findSent: (request: Request) => Request,
  findPeer: (sent: Request) => Bun.SocketAddress | null,
): ActiveCallers {
  const requests = new Set<Request>();
  let most = MORE;
  const list = () =>
    [...requests].flatMap((sent) => {
      const peer = findPeer(sent);
      const address = peer && readPeer(peer.address);
      if (peer && address) return [{ address, port: peer.port }];
      requests.delete(sent);
      return [];
    });
  return {
    add(request) {
      requests.add(findSent(request));
      if (requests.size < most) return;
      list();
      most = 2 * requests.size + MORE;
    },
    delete: (request) => void requests.delete(findSent(request)),
    list,
  };
}
