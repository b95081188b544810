// Tests that a secret on standard input is read whole, up to a maximum.
import { expect, test } from "bun:test";
import { UsageError } from "../../src/cli/command.ts";
import { readAll } from "../../src/cli/connections.ts";

async function* say(...parts: string[]) {
  for (const part of parts) yield new TextEncoder().encode(part);
}

test("input in several pieces is one text, also if a character is split", async () => {
  expect(await readAll(say("sk_", "secret\n"))).toBe("sk_secret\n");
  async function* cut() {
    for (const byte of new TextEncoder().encode("ä")) yield Uint8Array.of(byte);
  }
  expect(await readAll(cut())).toBe("ä");
  expect(await readAll(say())).toBe("");
});

test("input that never ends is not waited for", async () => {
  let pieces = 0;
  async function* endless() {
    for (; ; pieces++) yield new Uint8Array(1_024);
  }
  await expect(readAll(endless())).rejects.toBeInstanceOf(UsageError);
  expect(pieces).toBeLessThan(20);
});
