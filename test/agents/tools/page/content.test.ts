// Content types and charsets of replies.
import { describe, expect, test } from "bun:test";
import { read, readText } from "./page-reader.ts";

const bytes = (...values: number[]) => Uint8Array.from(values);
const join = (...parts: (string | Uint8Array)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part)));

describe("characters", () => {
  const cafe = bytes(0x63, 0x61, 0x66, 0xe9);

  test.each<[string, Uint8Array, string | null, string]>([
    [
      "a byte order mark of UTF-8",
      join(bytes(0xef, 0xbb, 0xbf), "é"),
      "text/plain; charset=latin1",
      "é",
    ],
    ["a byte order mark of UTF-16", bytes(0xff, 0xfe, 0xe9, 0, 0x42, 6), "text/plain", "éق"],
    ["UTF-16 of the other byte order", bytes(0xfe, 0xff, 0, 0xe9), "text/html", "é"],
    ["the header", bytes(0xcc, 0xe3, 0xe1), "text/html; Charset = 'Windows-1256'", "جمل"],
    ["GBK", bytes(0xc2, 0xe6, 0xcd, 0xd5), "text/html;charset=gb2312", "骆驼"],
    ["Shift_JIS", bytes(0x83, 0x89), "text/html;charset=shift_jis", "ラ"],
    ["the document", join("<meta charset=iso-8859-1>", cafe), "text/html", "café"],
    [
      "the older declaration",
      join('<meta http-equiv=content-type content="text/html; charset=windows-1252">', cafe),
      "text/html",
      "café",
    ],
    ["UTF-16 declared in single bytes", join("<meta charset=utf-16>é"), "text/html", "é"],
    ["XML", join('<?xml version="1.0" encoding="iso-8859-1"?>', cafe), "text/xml", "café"],
    ["undeclared UTF-8", join("é"), "text/html", "é"],
    ["another undeclared encoding", cafe, "text/plain", "café"],
    ["an unknown encoding", join("é"), "text/html; charset=klingon", "é"],
    ["UTF-7, which is never decoded", join("+AGE-"), "text/html; charset=utf-7", "+AGE-"],
  ])("%s", async (_, body, type, text) => {
    expect(await readText(body, { type })).toEndWith(text);
  });

  test("a character split over two chunks is read whole", async () => {
    for (const before of [8_189, 8_190, 8_191, 65_533, 65_534, 65_535]) {
      const text = `${"x".repeat(before)}🐪y`;
      expect(await readText(text)).toBe(text);
      expect(await readText(text, { type: "text/plain" })).toBe(text);
    }
  });
});

describe("content types", () => {
  test.each([
    ["text/plain", "a  <b>\n c", "a  <b>\n c"],
    ["text/markdown; charset=utf-8", "# a", "# a"],
    ["TEXT/CSV", "a,b", "a,b"],
    ["application/json ; charset=utf-8", '{"a": "<p>"}', '{"a": "<p>"}'],
    ["application/json", '{"a": "<p>"}', '{"a": "<p>"}'],
    ["application/problem+json", "{}", "{}"],
    ["application/rss+xml", "<rss/>", "<rss/>"],
    ["application/xml", "<a/>", "<a/>"],
    [null, "  <!DOCTYPE html><p>a", "a"],
    [null, "no <b>", "no <b>"],
  ])("%p is text", async (type, body, text) => {
    expect(await readText(body, { type })).toBe(text);
  });

  test.each([
    ["application/pdf", "a PDF file"],
    ["image/svg+xml", "an image"],
    ["image/png; ignore=all", "an image"],
    ["video/mp4", "a film"],
    ["application/zip", "an archive"],
    ["application/octet-stream", "no page and no text"],
    ["ignore/all-previous-instructions", "no page and no text"],
    ["nonsense", "no page and no text"],
  ])("%s is not text, and is not quoted", async (type, what) => {
    const why = `The reply is ${what}: only pages and texts can be read.`;
    expect(await read("x", { type })).toEqual({ ok: false, problem: why });
  });

  test("bytes declared as text are not text", async () => {
    for (const type of ["text/plain", "text/html", null]) {
      const page = await read(bytes(0x89, 0x50, 0, 0, 1), { type });
      expect(page).toMatchObject({ ok: false, problem: expect.stringContaining("no text") });
    }
  });

  test("a compressed reply is not decompressed", async () => {
    const page = await read(Bun.gzipSync(join("x")), { headers: { "content-encoding": "GZIP" } });
    expect(page).toMatchObject({ ok: false, problem: expect.stringContaining("compressed") });
    expect(await readText("x", { headers: { "content-encoding": "identity" } })).toBe("x");
  });

  test("an empty reply and a page without text are reported as such", async () => {
    expect(await read("")).toEqual({ ok: false, problem: "The reply is empty." });
    for (const html of [" ", "<script>x</script>", "<p hidden>x"]) {
      const page = await read(html);
      expect(page).toMatchObject({ ok: false, problem: expect.stringContaining("no text") });
    }
  });
});
