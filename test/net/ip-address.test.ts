// Tests IP addresses and networks: parsing, containment, and IANA's special blocks.
import { expect, test } from "bun:test";
import {
  findSpecialBlock,
  isLoopback,
  isWithin,
  readAddress,
  readNetwork,
} from "../../src/net/ip-address.ts";
import { addressResults } from "./hostile-addresses.ts";

test("an address is equal in every spelling", () => {
  for (const text of ["2001:db8::1", "2001:0DB8:0:0:0:0:0:1", "2001:db8::0.0.0.1"]) {
    expect(readAddress(text)).toEqual({ bits: 128, value: 0x2001_0db8n * 2n ** 96n + 1n });
  }
  expect(readAddress("192.0.2.1")).toEqual({ bits: 32, value: 0xc000_0201n });
});

test("an invalid address is refused", () => {
  for (const text of ["", "localhost", "192.0.2", "192.0.2.256", "fe80::1%eth0", "1::2::3"]) {
    expect(readAddress(text)).toBeNull();
  }
});

test("a network contains the addresses with its prefix, and one address is a network", () => {
  const isIn = (address: string, network: string) =>
    isWithin(readAddress(address)!, readNetwork(network)!);
  for (const [address, network, is] of [
    ["10.255.0.1", "10.0.0.0/8", true],
    ["11.0.0.0", "10.0.0.0/8", false],
    ["10.0.0.1", "10.9.9.9/8", true],
    ["192.0.2.1", "192.0.2.1", true],
    ["192.0.2.2", "192.0.2.1/32", false],
    ["203.0.113.9", "0.0.0.0/0", true],
    ["::1", "0.0.0.0/0", false],
    ["2001:db8:1::1", "2001:db8::/32", true],
    ["2001:db9::1", "2001:db8::/32", false],
    ["::ffff:10.0.0.1", "::ffff:0:0/96", true],
  ] as const) {
    expect([address, network, isIn(address, network)]).toEqual([address, network, is]);
  }
});

test("an invalid network is refused", () => {
  for (const text of [
    ...["", "/8", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/8/8"],
    ...["10.0.0.0/0x8", "10.0.0.0 /8", "example.com/8", "10.0.0/8", "10.0.0.0/8\n"],
  ]) {
    expect([text, readNetwork(text)]).toEqual([text, null]);
  }
});

test.each(addressResults)("the address %p lies in the block %p", (address, block) => {
  expect(findSpecialBlock(address)).toBe(block);
});

test("a host is this machine by its name or address", () => {
  for (const host of [
    "localhost",
    "LOCALHOST",
    "a.localhost",
    "127.0.0.9",
    "::1",
    "[::1]",
    "::ffff:127.0.0.1",
  ]) {
    expect([host, isLoopback(host)]).toEqual([host, true]);
  }
  for (const host of ["0.0.0.0", "::", "10.0.0.1", "::ffff:10.0.0.1", "localhost.example", ""]) {
    expect([host, isLoopback(host)]).toEqual([host, false]);
  }
});
