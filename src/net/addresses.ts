// Says which IP addresses are public, by IANA's registries of special-purpose addresses.
import { isWithin, type Network, readAddress, readNetwork } from "./network.ts";

/** Every block an answer of the domain name system must not lie in, with its registry's name. */
const specialBlocks: readonly (readonly [block: string, name: string])[] = [
  ["0.0.0.0/8", "This network"],
  ["10.0.0.0/8", "Private-Use"],
  ["100.64.0.0/10", "Shared Address Space"],
  ["127.0.0.0/8", "Loopback"],
  // The machine that answers a cloud's server with its credentials is 169.254.169.254.
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
  // In no registry: the host agent that every virtual machine on Azure can reach.
  ["168.63.129.16/32", "Azure host agent"],
  // Teredo, benchmarking, ORCHID, AMT, AS112 and drone identifiers all lie inside this one.
  ["2001::/23", "IETF Protocol Assignments"],
  ["2001:db8::/32", "Documentation"],
  ["2002::/16", "6to4"],
  ["2620:4f:8000::/48", "Direct Delegation AS112 Service"],
  ["3fff::/20", "Documentation"],
];

/**
 * The only part of IPv6 that is handed out as unicast addresses of the internet. What lies outside
 * needs no row: loopback, IPv4-mapped and -compatible, 64:ff9b::/96, fc00::/7, fe80::/10, ff00::/8.
 */
const globalUnicast = "2000::/3";

const blocks = specialBlocks.map(([block, name]) => ({ ...parseBlock(block), name }));
const global = parseBlock(globalUnicast);

/**
 * The name of the special block that holds an address, null where the address is public.
 * Text that is no address, or one with a zone (`fe80::1%eth0`), is not public either.
 */
export function findSpecialBlock(text: string): string | null {
  const address = readAddress(text);
  if (address === null) return "not an address";
  const block = blocks.find((candidate) => isWithin(address, candidate));
  if (block !== undefined) return block.name;
  if (address.bits === 128 && !isWithin(address, global)) return `outside ${globalUnicast}`;
  return null;
}

function parseBlock(text: string): Network {
  const block = readNetwork(text);
  if (block === null) throw new Error(`${text} is no block of addresses.`);
  return block;
}
