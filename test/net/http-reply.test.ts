// Tests replies in every valid form, split at every byte, and the refusal of invalid HTTP.
import { describe, expect, test } from "bun:test";
import type { ReplyHead } from "../../src/net/http-head.ts";
import { ReplyReader } from "../../src/net/http-reply.ts";

/** Parses these pieces in order; returns the state after the last, or at the decision. */
function read(...pieces: Buffer[]) {
  const body: Buffer[] = [];
  let head: ReplyHead | null = null;
  const reader = new ReplyReader({
    onHead: (replyHead) => {
      head = replyHead;
    },
    onBody: (bytes) => body.push(bytes),
  });
  let state: string = "open";
  for (const piece of pieces) {
    if (state !== "open") break;
    // A socket passes its own buffer each time, and the parser may write into it.
    state = reader.take(Buffer.from(piece));
  }
  if (state === "open" && reader.endsWithClose) state = "open until the close";
  const { isKept } = reader;
  const { status = 0 } = (head ?? {}) as Partial<ReplyHead>;
  return {
    state,
    status,
    body: Buffer.concat(body).toString(),
    isKept,
    head: head as ReplyHead | null,
  };
}

const latin1 = (text: string) => Buffer.from(text, "latin1");
const reply = (...lines: string[]) => lines.join("\r\n");
const chunked = (...lines: string[]) =>
  reply("HTTP/1.1 200 OK", "transfer-encoding: chunked", "", ...lines);

const GOOD: [title: string, text: string, expected: object][] = [
  [
    "with a length",
    reply("HTTP/1.1 200 OK", "Content-Length: 5", "", "Hello"),
    { state: "whole", status: 200, body: "Hello", isKept: true },
  ],
  [
    "without a body",
    reply("HTTP/1.1 500 Internal Server Error", "content-length:0", "", ""),
    { state: "whole", status: 500, body: "", isKept: true },
  ],
  [
    "without a reason",
    reply("HTTP/1.1 200", "content-length: 1", "", "x"),
    { state: "whole", status: 200, body: "x" },
  ],
  [
    "whose lines end with LF alone",
    "HTTP/1.1 200 OK\ncontent-length: 2\nx-a: b\n\nok",
    { state: "whole", status: 200, body: "ok" },
  ],
  [
    "in chunks",
    chunked("5", "Hello", "A", " world, hi", "0", "", ""),
    { state: "whole", body: "Hello world, hi", isKept: true },
  ],
  [
    "in chunks with extensions and trailers",
    chunked('5;a="b;c"', "Hello", "6 ; x", " world", "000", "x-sum: 1", "Expires: never", "", ""),
    { state: "whole", body: "Hello world", isKept: true },
  ],
  [
    "in chunks whose size is written with ten digits",
    chunked("0000000005", "Hello", "0", "", ""),
    { state: "whole", body: "Hello", isKept: true },
  ],
  [
    "in chunks whose lines end with LF alone",
    "HTTP/1.1 200 OK\nTransfer-Encoding: Chunked\n\n2\nok\n0\n\n",
    { state: "whole", body: "ok", isKept: true },
  ],
  [
    "until the close",
    reply("HTTP/1.1 200 OK", "content-type: text/plain", "", "Hello"),
    { state: "open until the close", body: "Hello", isKept: false },
  ],
  [
    "of HTTP/1.0",
    reply("HTTP/1.0 200 OK", "content-length: 2", "", "ok"),
    { state: "whole", body: "ok", isKept: false },
  ],
  [
    "of HTTP/1.0 that keeps the connection",
    reply("HTTP/1.0 200 OK", "connection: Keep-Alive", "content-length: 2", "", "ok"),
    { state: "whole", body: "ok", isKept: true },
  ],
  [
    "that closes the connection",
    reply("HTTP/1.1 200 OK", "connection: x, Close", "content-length: 2", "", "ok"),
    { state: "whole", body: "ok", isKept: false },
  ],
  [
    "after interim ones",
    reply("HTTP/1.1 100 Continue", "", "HTTP/1.1 103 Early Hints", "link: a", "", "") +
      reply("HTTP/1.1 200 OK", "content-length: 2", "", "ok"),
    { state: "whole", status: 200, body: "ok", isKept: true },
  ],
  ["204", reply("HTTP/1.1 204 No Content", "", ""), { state: "whole", status: 204, isKept: true }],
  [
    "304, whatever length it tells",
    reply("HTTP/1.1 304 Not Modified", "content-length: 99", "", ""),
    { state: "whole", status: 304, body: "", isKept: true },
  ],
];

describe("a reply is parsed, split at any position:", () => {
  for (const [title, text, expected] of GOOD) {
    test(title, () => {
      const bytes = latin1(text);
      expect(read(bytes)).toMatchObject(expected);
      for (let cut = 1; cut < bytes.length; cut += 1) {
        const halves = read(bytes.subarray(0, cut), bytes.subarray(cut));
        expect({ cut, ...halves }).toMatchObject({ cut, ...expected });
        const byte = bytes.subarray(cut, cut + 1);
        const three = read(bytes.subarray(0, cut), byte, bytes.subarray(cut + 1));
        expect({ cut, ...three }).toMatchObject({ cut, ...expected });
      }
      expect(read(...[...bytes].map((byte) => Buffer.of(byte)))).toMatchObject(expected);
    });
  }

  for (const [title, text, expected] of GOOD) {
    if (!("state" in expected) || expected.state !== "whole") continue;
    test(`${title}, and is incomplete a byte earlier`, () => {
      for (let end = 1; end < text.length; end += 1) {
        expect(read(latin1(text.slice(0, end))).state).toBe("open");
      }
    });

    test(`${title}, and an extra byte makes its connection unusable`, () => {
      expect(read(latin1(`${text}H`))).toMatchObject({ ...expected, isKept: false });
    });
  }
});

const BAD: [title: string, text: string][] = [
  ["garbage", "What?\r\n\r\n"],
  ["another protocol", reply("HTTP/2 200 OK", "", "")],
  ["HTTP/1.2", reply("HTTP/1.2 200 OK", "content-length: 0", "", "")],
  ["a status of two digits", reply("HTTP/1.1 20 OK", "content-length: 0", "", "")],
  ["a status above 599", reply("HTTP/1.1 600 OK", "content-length: 0", "", "")],
  ["blanks in front of it", reply(" HTTP/1.1 200 OK", "content-length: 0", "", "")],
  ["an empty line in front of it", reply("", "HTTP/1.1 200 OK", "content-length: 0", "", "")],
  ["a switch of protocols", reply("HTTP/1.1 101 Switching", "upgrade: x", "", "")],
  ["a folded line", reply("HTTP/1.1 200 OK", "x-a: b", " c", "content-length: 0", "", "")],
  ["a blank before a colon", reply("HTTP/1.1 200 OK", "content-length : 0", "", "")],
  ["a line without a colon", reply("HTTP/1.1 200 OK", "content-length", "", "")],
  ["a header without a name", reply("HTTP/1.1 200 OK", ": 0", "", "")],
  ["a NUL in a value", reply("HTTP/1.1 200 OK", "x-a: a\0b", "content-length: 0", "", "")],
  ["a CR in a value", reply("HTTP/1.1 200 OK", "x-a: a\rb", "content-length: 0", "", "")],
  ["two lengths", reply("HTTP/1.1 200 OK", "content-length: 1", "content-length: 2", "", "x")],
  [
    "a repeated length",
    reply("HTTP/1.1 200 OK", "content-length: 1", "content-length: 1", "", "x"),
  ],
  ["a list of lengths", reply("HTTP/1.1 200 OK", "content-length: 1, 1", "", "x")],
  ["a length with a sign", reply("HTTP/1.1 200 OK", "content-length: +1", "", "x")],
  ["a length in hexadecimal", reply("HTTP/1.1 200 OK", "content-length: 0x1", "", "x")],
  ["an empty length", reply("HTTP/1.1 200 OK", "content-length:", "", "x")],
  [
    "a length beyond counting",
    reply("HTTP/1.1 200 OK", `content-length: ${"9".repeat(30)}`, "", ""),
  ],
  [
    "a length beside chunks",
    reply("HTTP/1.1 200 OK", "content-length: 5", "transfer-encoding: chunked", "", "0", "", ""),
  ],
  ["another coding", reply("HTTP/1.1 200 OK", "transfer-encoding: gzip, chunked", "", "")],
  [
    "chunks of chunks",
    reply("HTTP/1.1 200 OK", "transfer-encoding: chunked", "transfer-encoding: chunked", "", ""),
  ],
  ["chunks in HTTP/1.0", reply("HTTP/1.0 200 OK", "transfer-encoding: chunked", "", "0", "", "")],
  ["a chunk without a size", chunked("", "Hello")],
  ["a chunk whose size is no number", chunked("x", "Hello")],
  ["a chunk whose size has a sign", chunked("-5", "Hello")],
  ["a chunk whose size is written 0x5", chunked("0x5", "Hello")],
  ["a chunk whose size is beyond counting", chunked("FFFFFFFFFFF", "Hello")],
  ["a chunk whose size is written with eleven digits", chunked("00000000005", "Hello")],
  ["a chunk that is longer than its size", chunked("4", "Hello", "0", "", "")],
  ["a chunk that is shorter than its size", chunked("8", "Hello", "0", "", "")],
  ["a chunk with a lone CR after its size", chunked("5\rx", "Hello")],
  ["a chunk with a lone CR within its size", chunked("0\r5", "Hello", "0", "", "")],
  ["a NUL in an extension", chunked("5;\0", "Hello")],
  ["an extension without end", chunked(`5;${"x".repeat(20_000)}`)],
  ["a NUL in a trailer", chunked("0", "a: \0", "", "")],
  ["trailers without end", chunked("0", `a: ${"x".repeat(20_000)}`)],
  ["a head without end", reply("HTTP/1.1 200 OK", `x-a: ${"x".repeat(70_000)}`)],
  ["a head of 70 KB", reply("HTTP/1.1 200 OK", `x-a: ${"x".repeat(70_000)}`, "", "")],
  ["interim replies without end", `HTTP/1.1 100 Continue\r\n\r\n`.repeat(3_000)],
];

describe("a reply is refused with", () => {
  for (const [title, text] of BAD) {
    test(title, () => {
      const bytes = latin1(text);
      expect(read(bytes).state).toBe("broken");
      const pieces: Buffer[] = [];
      const step = Math.max(1, Math.floor(bytes.length / 500));
      for (let at = 0; at < bytes.length; at += step) pieces.push(bytes.subarray(at, at + step));
      expect(read(...pieces).state).toBe("broken");
    });
  }
});

test("headers are found under any case of their names, the first of each", () => {
  const text = reply("HTTP/1.1 200 OK", "X-A:\t1 ", "x-a: 2", "X-Empty:", "X-\xC4: 3", "", "");
  expect(read(latin1(text)).state).toBe("broken");
  const { head } = read(latin1(text.replace("X-\xC4: 3\r\n", "")));
  expect(head).toMatchObject({ status: 200, length: null, isChunked: false });
  expect(["x-a", "x-empty", "x-b"].map((name) => head!.header(name))).toEqual(["1", "", null]);
});

test("a head of 64 KiB is read, and none of a byte more", () => {
  const head = (letters: number) =>
    reply("HTTP/1.1 200 OK", `x-a: ${"x".repeat(letters)}`, "content-length: 0", "", "");
  const longest = 65_536 - head(0).length;
  const stateOf = (letters: number) => read(latin1(head(letters))).state;
  expect([stateOf(longest), stateOf(longest + 1)]).toEqual(["whole", "broken"]);
});

test("a length of twelve digits is counted, and none of thirteen", () => {
  const stateOf = (digits: number) =>
    read(latin1(reply("HTTP/1.1 200 OK", `content-length: ${"1".repeat(digits)}`, "", ""))).state;
  expect([stateOf(12), stateOf(13)]).toEqual(["open", "broken"]);
});

test("16 KiB of framing are read between two chunks, and no byte more", () => {
  // The size, its semicolon and the line end count, too.
  const stateOf = (letters: number) =>
    read(latin1(chunked(`1;${"x".repeat(letters)}`, "x", "0", "", ""))).state;
  expect([stateOf(16_384 - 3), stateOf(16_384 - 2)]).toEqual(["whole", "broken"]);
});

test("a reply of many thousand chunks is whole: only the framing between two is bounded", () => {
  const chunks = Array.from({ length: 10_000 }, () => ["1", "x"]).flat();
  const { state, body } = read(latin1(chunked(...chunks, "0", "", "")));
  expect([state, body]).toEqual(["whole", "x".repeat(10_000)]);
});
