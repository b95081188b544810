// Faults of networks, servers and proxies in a JSON reply, for every client in the gateway.
import {
  type Fault,
  LAST_CHUNK,
  sayAndEnd,
  sayAndReset,
  sayAndStay,
  writeChunk,
  writeHead,
  writeReply,
} from "./fault-proxy.ts";

/** Represents details of servers and proxies, which must not reach a caller. */
export const CANARY = "canary at 10.9.8.7:8443";

export const writePage = (title: string) =>
  `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n` +
  `<hr><center>nginx/1.25.3 ${CANARY}</center>\r\n</body>\r\n</html>\r\n`;

export const sayPage = (status: string, fields: string[] = []): Fault => {
  const head = ["content-type: text/html", `server: ${CANARY}`, ...fields];
  return sayAndStay(writeReply(writePage(status), status, head));
};

export const JSON_TYPE = "content-type: application/json";
export const CHUNKED = writeHead("200 OK", [JSON_TYPE, "transfer-encoding: chunked"]);
export const withLength = (length: number) =>
  writeHead("200 OK", [JSON_TYPE, `content-length: ${length}`]);

export const sayHalf = (status: string): Fault =>
  sayAndEnd(`${writeHead(status, ["content-length: 99"])}{"error":"${CANARY}`);

/** `kept` means that the connection may be reused. */
export type ReplyFault = [title: string, fault: Fault, kept?: "kept"];

/** Replies without a head count as an error of the server. */
export const HEADLESS: readonly ReplyFault[] = [
  ["hangs up without a byte", sayAndEnd()],
  ["resets without a byte", sayAndReset("")],
  ["hangs up in the status line", sayAndEnd("HTTP/1.1 20")],
  ["hangs up in the head", sayAndEnd(`HTTP/1.1 200 OK\r\nserver: ${CANARY}`)],
  ["resets in the head", sayAndReset(`HTTP/1.1 200 OK\r\nserver: ${CANARY}`)],
  ["hangs up after the head", sayAndEnd(withLength(99))],
  ["resets after the head", sayAndReset(withLength(99))],
  ["speaks another protocol", sayAndEnd(`SSH-2.0-${CANARY}\r\n\r\n`)],
  ["speaks in zeros", sayAndEnd("\0".repeat(1_000))],
  ["speaks TLS", sayAndEnd("\x15\x03\x01\0\x02\x02\x46")],
  ["has a word for its status", sayAndEnd(`HTTP/1.1 abc ${CANARY}\r\n\r\n`)],
  ["has status 999", sayAndEnd(writeReply(CANARY, "999 What"))],
  ["switches protocols", sayAndEnd(writeHead("101 Switching Protocols", ["upgrade: x"]))],
  [
    "has a head of a megabyte",
    sayAndStay(`HTTP/1.1 200 OK\r\n${`x: ${"y".repeat(997)}\r\n`.repeat(1_000)}`),
  ],
  ["has an empty body", sayAndStay(writeReply("")), "kept"],
  ["answers 204", sayAndStay(writeHead("204 No Content", [])), "kept"],
  ["is a page in HTML", sayPage("200 OK"), "kept"],
  ["is a proxy without a server", sayPage("502 Bad Gateway"), "kept"],
  ["says half a 500 and hangs up", sayHalf("500 No")],
  ["has a chunk without a size", sayAndStay(`${CHUNKED}zz\r\n${CANARY}\r\n`)],
  ["has a chunk of negative size", sayAndStay(`${CHUNKED}-5\r\n${CANARY}\r\n`)],
  ["has a chunk of more than numbers tell", sayAndStay(`${CHUNKED}${"f".repeat(40)}\r\n${CANARY}`)],
];

/** An interrupted valid reply counts as an error of the server too. */
export function listBroken(good: string): ReplyFault[] {
  const surface = good.slice(0, 40);
  return [
    [
      "has a word for its length",
      sayAndStay(`${writeHead("200 OK", [JSON_TYPE, "content-length: many"])}${good}`),
    ],
    [
      "has two lengths",
      sayAndStay(
        `${writeHead("200 OK", [JSON_TYPE, "content-length: 5", "content-length: 6"])}${good}`,
      ),
    ],
    ["hangs up in the body", sayAndEnd(withLength(good.length) + surface)],
    ["resets in the body", sayAndReset(withLength(good.length) + surface)],
    ["says more than it announces", sayAndStay(withLength(good.length - 9) + good)],
    ["says less than it announces", sayAndEnd(withLength(good.length + 9) + good)],
    ["hangs up in a chunk", sayAndEnd(CHUNKED + writeChunk(good).slice(0, 40))],
    ["hangs up in front of the last chunk", sayAndEnd(CHUNKED + writeChunk(good))],
    ["says two documents", sayAndStay(writeReply(good + good)), "kept"],
    [
      "speaks in UTF-16",
      sayAndStay(withLength(2 * good.length), Buffer.from(good, "utf16le")),
      "kept",
    ],
  ];
}

/** Other forms of a whole reply, which are accepted. */
export function listForms(good: string): ReplyFault[] {
  return [
    ["ends its reply with the connection", sayAndEnd(writeHead("200 OK", [JSON_TYPE]) + good)],
    ["speaks HTTP/1.0", sayAndEnd(`HTTP/1.0 200 OK\r\n${JSON_TYPE}\r\n\r\n${good}`)],
    [
      "gives early hints",
      sayAndStay(writeHead("103 Early Hints", ["link: x"]), writeReply(good)),
      "kept",
    ],
    ["speaks in chunks", sayAndStay(CHUNKED, writeChunk(good), LAST_CHUNK), "kept"],
    ["speaks in pieces", sayAndStay(...(writeReply(good).match(/[\s\S]{1,97}/g) ?? [])), "kept"],
    ["speaks in single bytes", sayAndStay(...writeReply(good)), "kept"],
    [
      "speaks in chunks of a single byte",
      sayAndStay(CHUNKED, ...[...good].map(writeChunk), LAST_CHUNK),
      "kept",
    ],
    ["begins with a byte order mark", sayAndStay(writeReply(`\ufeff${good}`)), "kept"],
    ["does not keep its connection", sayAndStay(writeReply(good, "200 OK", ["connection: close"]))],
    [
      "answers twice",
      sayAndStay(writeReply(good) + writeReply(JSON.stringify({ error: CANARY }))),
      "kept",
    ],
  ];
}

/** Replies that stall; waiting for the rest takes the whole time-out. */
export function listSilences(good: string): [where: string, said: string][] {
  return [
    ["at all", ""],
    ["behind half the status line", "HTTP/1.1 2"],
    ["behind half the head", `HTTP/1.1 200 OK\r\nserver: ${CANARY}\r\n`],
    ["behind 100 Continue", writeHead("100 Continue", [])],
    ["behind the head", withLength(99)],
    ["behind half a body", withLength(good.length) + good.slice(0, 40)],
    ["behind half a chunk", CHUNKED + writeChunk(good).slice(0, 40)],
  ];
}
