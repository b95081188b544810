// Tests that standard input is read whole, up to a maximum.
import { afterEach, describe, expect, spyOn, test } from "bun:test";
import { UsageError } from "../../src/cli/command.ts";
import { readAll, readSecret } from "../../src/cli/standard-input.ts";

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

describe("a secret", () => {
  const modes: boolean[] = [];
  const stdin = process.stdin;
  let typed: string[] = [];
  const pretend = (isTTY: boolean) =>
    Object.defineProperty(process, "stdin", {
      configurable: true,
      value: {
        isTTY,
        setRawMode: (is: boolean) => modes.push(is),
        async *[Symbol.asyncIterator]() {
          yield* typed;
        },
      },
    });
  afterEach(() => {
    Object.defineProperty(process, "stdin", { configurable: true, value: stdin });
  });
  const read = (...keys: string[]) => {
    typed = keys;
    modes.length = 0;
    return readSecret({ say: () => {} });
  };

  test("is typed unseen, up to its maximum, and the terminal is as before", async () => {
    pretend(true);
    const longest = "x".repeat(MAX);
    expect(await read("ab", "c\u007fd\r", "more")).toBe("abd");
    expect(await read(longest, "\n")).toBe(longest);
    await expect(read(longest, "x")).rejects.toThrow("the secret is too long");
    expect(modes).toEqual([true, false]);
    await expect(read("ab\u0003")).rejects.toThrow("given up");
    expect(modes).toEqual([true, false]);
    await expect(read("\r")).rejects.toThrow("no secret came");
  });

  test("is read whole, up to its maximum, without the line break of `echo`", async () => {
    pretend(false);
    using stream = spyOn(Bun.stdin, "stream");
    const pipe = (text: string) => {
      stream.mockImplementation(() => say(text) as never);
      return read();
    };
    expect(await pipe(" a b \r\n")).toBe(" a b ");
    expect(await pipe("a\n\n")).toBe("a\n");
    const longest = "x".repeat(MAX);
    expect(await pipe(longest)).toBe(longest);
    await expect(pipe(`${longest}x`)).rejects.toThrow("a secret has at most 16384 bytes");
    await expect(pipe("\n")).rejects.toThrow("no secret came");
  });
});
