// IP addresses and networks as numbers, read from the text in which people and sockets write them.
import { isIP } from "node:net";

export interface Address {
  bits: 32 | 128;
  value: bigint;
}

/** All addresses that share the first `prefix` bits. */
export interface Network extends Address {
  prefix: number;
}

/** null: no address, or one with a zone (`fe80::1%eth0`). */
export function readAddress(text: string): Address | null {
  const version = isIP(text);
  if (version === 0 || text.includes("%")) return null;
  const hex = version === 4 ? hexOfV4(text) : hexOfV6(text);
  return { bits: version === 4 ? 32 : 128, value: BigInt(`0x${hex}`) };
}

/** `10.0.0.0/8`, `2001:db8::/32`, or one address alone; null: none of these. */
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

function hexOfV4(text: string): string {
  return text
    .split(".")
    .map((part) => Number(part).toString(16).padStart(2, "0"))
    .join("");
}

/** The 32 hexadecimal digits of a well-formed IPv6 address. */
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
