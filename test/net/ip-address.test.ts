// Tests IP addresses and networks: parsing, containment, and IANA's special blocks.
import { expect, test } from "bun:test";
import { isIP } from "node:net";
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

test("an address is what node:net takes for one without a zone", () => {
  const parts = ["", "0", "1", "9", "00", "255", "256", "ffff", "Ab0", "g", "1.2.3.4", "01.2.3.4"];
  const signs = [":", ":", ":", "::", ".", ".", "", " ", "%"];
  const texts = ["::", ":", ":::", "::1", "1::", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::"];
  texts.push("1:2:3:4:5:6:1.2.3.4", "::1.2.3.4", "1.2.3.4", "1.2.3.4.", "1.2.3.4\n", "1::1.2.3.4");
  let seed = 7;
  const pick = (from: readonly string[]) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return from[(seed >> 8) % from.length]!;
  };
  for (let length = 0; texts.length < 20_000; length = (length + 1) % 9) {
    const random = Array.from({ length }, () => pick(parts) + pick(signs)).join("") + pick(parts);
    // Whole addresses, one part of which is another.
    const groups = Array.from({ length: 8 - (length % 2) }, () => pick(["0", "1", "ffff"]));
    groups[length % groups.length] = pick(parts);
    texts.push(random, groups.join(":"), groups.slice(0, 4).join("."));
  }
  const wrong = texts.filter((text) => {
    const version = text.includes("%") ? 0 : isIP(text);
    const bits = readAddress(text)?.bits ?? 0;
    return bits !== { 0: 0, 4: 32, 6: 128 }[version];
  });
  expect(wrong).toEqual([]);
  expect(new Set(texts.map((text) => isIP(text)))).toEqual(new Set([0, 4, 6]));
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
  for (const host of [
    "0.0.0.0",
    "::",
    "10.0.0.1",
    "::ffff:10.0.0.1",
    "localhost.example",
    "notlocalhost",
    "",
  ]) {
    expect([host, isLoopback(host)]).toEqual([host, false]);
  }
});
