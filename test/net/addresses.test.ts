// Holds IANA's registries against the guard: each address with the block that must be named for it.
import { expect, test } from "bun:test";
import { findSpecialBlock } from "../../src/net/ip-address.ts";
import { addressVerdicts } from "./hostile-addresses.ts";

test.each(addressVerdicts)("the address %p lies in the block %p", (address, block) => {
  expect(findSpecialBlock(address)).toBe(block);
});
