// Tests that standard input is read whole, up to a maximum.
import { expect, test } from "bun:test";
import { UsageError } from "../../src/cli/command.ts";
import { readAll } from "../../src/cli/standard-input.ts";

const MAX = 16_384;

async function* say(...parts: string[]) {
  for (const part of parts) yield new TextEncoder().encode(part);
}

test("input in several pieces is one text, also if a character is split", async () => {
  expect(await readAll(say("sk_", "secret\n"), MAX, "a text")).toBe("sk_secret\n");
  async function* cut() {
    for (const byte of new TextEncoder().encode("ä")) yield Uint8Array.of(byte);
  }
  expect(await readAll(cut(), MAX, "a text")).toBe("ä");
  expect(await readAll(say(), MAX, "a text")).toBe("");
});

test("input of exactly the maximum is read", async () => {
  const longest = "x".repeat(MAX);
  expect(await readAll(say(longest), MAX, "a text")).toBe(longest);
  const more = readAll(say(longest, "x"), MAX, "a text");
  await expect(more).rejects.toEqual(new UsageError("a text has at most 16384 bytes"));
});

test("input that never ends is not waited for", async () => {
  let pieces = 0;
  async function* endless() {
    for (; ; pieces++) yield new Uint8Array(1_024);
  }
  const read = readAll(endless(), MAX, "a text");
  await expect(read).rejects.toEqual(new UsageError("a text has at most 16384 bytes"));
  expect(pieces).toBeLessThan(20);
});
