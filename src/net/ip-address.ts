// IP addresses and networks as numbers, and IANA's registries of those that are not public.

export interface Address {
  bits: 32 | 128;
  value: bigint;
}

export interface Network extends Address {
  prefix: number;
}

/** Reads an address; null for anything else, also for one with a zone (`fe80::1%eth0`). */
export function readAddress(text: string): Address | null {
  const isShort = V4.test(text);
  if (!isShort && !isV6(text)) return null;
  const hex = isShort ? hexOfV4(text) : hexOfV6(text);
  return { bits: isShort ? 32 : 128, value: BigInt(`0x${hex}`) };
}

// Tested here, since every start reads addresses, and loading node:net would take it 8 ms.
const V4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?=\d)|$)){4}$/;
const V6_GROUP = /^[0-9a-f]{1,4}$/i;
const V6_GROUPS = 8;

function isV6(text: string): boolean {
  const tail = text.slice(text.lastIndexOf(":") + 1);
  const whole = V4.test(tail) ? `${text.slice(0, -tail.length)}0:0` : text;
  const sides = whole.split("::");
  const groups = sides.flatMap((side) => (side === "" ? [] : side.split(":")));
  const fits = sides.length === 1 ? groups.length === V6_GROUPS : groups.length < V6_GROUPS;
  return sides.length <= 2 && fits && groups.every((group) => V6_GROUP.test(group));
}

/** Reads `10.0.0.0/8`, `2001:db8::/32` or a single address; null for anything else. */
export function readNetwork(text: string): Network | null {
  const [, base = "", digits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const address = readAddress(base);
  if (address === null) return null;
  const prefix = digits === undefined ? address.bits : Number(digits);
  return prefix > address.bits ? null : { ...address, prefix };
}

export function isWithin(address: Address, network: Network): boolean {
  const tail = BigInt(network.bits - network.prefix);
  return address.bits === network.bits && address.value >> tail === network.value >> tail;
}

/** Names the client of an address: a subscriber owns at least a /64 of IPv6. */
export function nameClient({ bits, value }: Address): string {
  if (bits === 128) return `${(value >> 64n).toString(16).padStart(16, "0")}/64`;
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join(".");
}

function hexOfV4(text: string): string {
  return text
    .split(".")
    .map((part) => Number(part).toString(16).padStart(2, "0"))
    .join("");
}

function hexOfV6(text: string): string {
  const dotted = text.slice(text.lastIndexOf(":") + 1);
  if (dotted.includes(".")) {
    const hex = hexOfV4(dotted);
    text = `${text.slice(0, -dotted.length)}${hex.slice(0, 4)}:${hex.slice(4)}`;
  }
  const [head, tail] = text.split("::").map((side) => side.split(":").filter(Boolean));
  const missing = 8 - head!.length - (tail?.length ?? 0);
  const groups = [...head!, ...Array<string>(missing).fill("0"), ...(tail ?? [])];
  return groups.map((group) => group.padStart(4, "0")).join("");
}

/** Blocks that are not public, with the names of their registry entries. */
const SPECIAL_BLOCKS: readonly (readonly [block: string, name: string])[] = [
  ["0.0.0.0/8", "This network"],
  ["10.0.0.0/8", "Private-Use"],
  ["100.64.0.0/10", "Shared Address Space"],
  ["127.0.0.0/8", "Loopback"],
  // 169.254.169.254 answers a cloud's servers with their credentials.
  ["169.254.0.0/16", "Link Local"],
  ["172.16.0.0/12", "Private-Use"],
  ["192.0.0.0/24", "IETF Protocol Assignments"],
  ["192.0.2.0/24", "Documentation (TEST-NET-1)"],
  ["192.31.196.0/24", "AS112-v4"],
  ["192.52.193.0/24", "AMT"],
  ["192.88.99.0/24", "Deprecated (6to4 Relay Anycast)"],
  ["192.168.0.0/16", "Private-Use"],
  ["192.175.48.0/24", "Direct Delegation AS112 Service"],
  ["198.18.0.0/15", "Benchmarking"],
  ["198.51.100.0/24", "Documentation (TEST-NET-2)"],
  ["203.0.113.0/24", "Documentation (TEST-NET-3)"],
  ["224.0.0.0/4", "Multicast"],
  ["240.0.0.0/4", "Reserved"],
  // In no registry: every virtual machine on Azure can reach this host agent.
  ["168.63.129.16/32", "Azure host agent"],
  // Teredo, benchmarking, ORCHID, AMT, AS112 and drone identifiers lie inside.
  ["2001::/23", "IETF Protocol Assignments"],
  ["2001:db8::/32", "Documentation"],
  ["2002::/16", "6to4"],
  ["2620:4f:8000::/48", "Direct Delegation AS112 Service"],
  ["3fff::/20", "Documentation"],
];

/**
 * The only block of public IPv6 unicast addresses. All special blocks outside of it need no row:
 * loopback, IPv4-mapped and -compatible, 64:ff9b::/96, fc00::/7, fe80::/10, ff00::/8.
 */
const GLOBAL_UNICAST = "2000::/3";

const blocks = SPECIAL_BLOCKS.map(([block, name]) => ({ ...readNetwork(block)!, name }));
const globalUnicast = readNetwork(GLOBAL_UNICAST)!;

export function findSpecialBlock(text: string): string | null {
  const address = readAddress(text);
  if (address === null) return "not an address";
  const block = blocks.find((candidate) => isWithin(address, candidate));
  if (block !== undefined) return block.name;
  const isOutside = address.bits === 128 && !isWithin(address, globalUnicast);
  return isOutside ? `outside ${GLOBAL_UNICAST}` : null;
}

export const LOOPBACK: readonly Network[] = ["127.0.0.0/8", "::1"].map(
  (text) => readNetwork(text)!,
);

/** Tests a host of a URL or a setting: a name or an address, with or without brackets. */
export function isLoopback(host: string): boolean {
  // A socket of both families reports IPv4 within IPv6.
  const name = host.replaceAll(/[[\]]/g, "").replace(/^::ffff:(?=\d+\.)/i, "");
  if (/^(?:.+\.)?localhost$/i.test(name)) return true;
  const address = readAddress(name);
  return address !== null && LOOPBACK.some((network) => isWithin(address, network));
}
