// Tests how much of a reply is read, and in which forms.
import { expect, test } from "bun:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { fetchText, isGood, isRouteAbsent } from "../../../src/models/providers/body.ts";
import type { ReplyListener, TrustedServer } from "../../../src/net/index.ts";

const STAYS = new AbortController().signal;

/** Fetches a reply of these parts, at most 64 bytes of it; null: it could not be read. */
async function read(parts: (string | Uint8Array)[], encoding: string | null = null, length = 0) {
  const cuts: string[] = [];
  const play = (listener: ReplyListener) => {
    queueMicrotask(() => {
      const header = (name: string) => (name === "content-encoding" ? encoding : null);
      listener.onHead({ status: 200, header, length, isChunked: true, isKept: true });
      for (const part of parts) listener.onBody(Buffer.from(part));
      listener.onEnd();
    });
    return { cut: () => void cuts.push("cut"), pause() {}, resume() {} };
  };
  const server: TrustedServer = {
    get: (_, listener) => play(listener),
    post: (_, __, listener) => play(listener),
  };
  const reply = await fetchText(server, { account: "a-1", bytesMax: 64, signal: STAYS });
  expect(cuts).toEqual(["cut"]);
  return reply.status === null ? reply.failure : reply.text;
}
const x = (count: number) => "x".repeat(count);

test("a reply may have as many bytes as allowed, and no more", async () => {
  expect(await read([x(60), x(4)])).toBe(x(64));
  expect(await read([x(60), x(5)])).toBeNull();
  expect(await read([x(64)], null, 64)).toBe(x(64));
  expect(await read([], null, 65)).toBeNull();
});

test.each([
  ["gzip", gzipSync],
  ["X-GZIP", gzipSync],
  ["deflate", deflateSync],
  ["Br", brotliCompressSync],
  ["Identity", (text: string) => text],
  ["", (text: string) => text],
])("so may one that is packed by %j, once it is unpacked", async (encoding, pack) => {
  expect(await read([pack(x(64))], encoding)).toBe(x(64));
  expect(await read([pack(x(65))], encoding)).toBeNull();
});

test("what cannot be unpacked is not read", async () => {
  for (const encoding of ["zstd", "gzip", "deflate", "br"]) {
    expect([encoding, await read(["plain"], encoding)]).toEqual([encoding, null]);
  }
});

test("a byte-order mark is no part of the text", async () => {
  expect(await read(["\ufeffa\ufeff"])).toBe("a\ufeff");
  expect(await read([])).toBe("");
});

test("a bug in a callback rejects", async () => {
  const play = (listener: ReplyListener) => {
    queueMicrotask(() => listener.onBug(new Error("a bug")));
    return { cut() {}, pause() {}, resume() {} };
  };
  const server: TrustedServer = {
    get: (_, listener) => play(listener),
    post: (_, __, listener) => play(listener),
  };
  const fetched = fetchText(server, { account: "a-1", bytesMax: 64, signal: STAYS });
  await expect(fetched).rejects.toThrow("a bug");
});

test("a status tells a good reply, or an absent route", () => {
  expect([null, 199, 200, 299, 300].map(isGood)).toEqual([false, false, true, true, false]);
  const absent = [400, 403, 404, 405, 410, 500, 501, 502].filter(isRouteAbsent);
  expect(absent).toEqual([404, 405, 501]);
});
