// Reads the head of an HTTP/1.1 reply strictly: an ambiguous head is refused.

export interface ReplyHead {
  status: number;
  header(name: string): string | null;
  length: number | null;
  isChunked: boolean;
  isKept: boolean;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?\r?\n$/;
/** Pattern of header lines: a token directly before the colon, and no folded line. */
const HEADER_LINES = /^(?:[!#$%&'*+.^_`|~\w-]+:[\t\x20-\x7e\x80-\xff]*\r?\n)*$/;
/** Pattern of a length below a terabyte, which numbers count exactly. */
const LENGTH = /^\d{1,12}$/;

/** Returns the end of a head with its blank line, searched from `from` on; -1 if it is open. */
export function findHeadEnd(bytes: Uint8Array, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    if (bytes[at] !== 0x0a) continue;
    const next = bytes[at + 1];
    if (next === 0x0a) return at + 2;
    if (next === 0x0d && bytes[at + 2] === 0x0a) return at + 3;
  }
  return -1;
}

export function readHead(text: string): ReplyHead | null {
  const firstEnd = text.indexOf("\n") + 1;
  const statusLine = STATUS_LINE.exec(text.slice(0, firstEnd));
  const lines = text.slice(firstEnd, text.endsWith("\r\n") ? -2 : -1);
  if (!statusLine || !HEADER_LINES.test(lines)) return null;
  const headers = listHeaders(lines);
  const status = Number(statusLine[2]);
  const framing = readFraming(headers, status, statusLine[1] === "0");
  return framing && { status, header: (name) => findHeader(headers, name), ...framing };
}

function listHeaders(lines: string): string[] {
  const headers: string[] = [];
  for (let from = 0; from < lines.length; ) {
    const colon = lines.indexOf(":", from);
    const end = lines.indexOf("\n", colon) + 1;
    headers.push(lines.slice(from, colon).toLowerCase(), lines.slice(colon + 1, end).trim());
    from = end;
  }
  return headers;
}

/** RFC 9112, 6.3: finds how the body ends; null if the headers contradict each other. */
function readFraming(
  headers: readonly string[],
  status: number,
  isOld: boolean,
): Pick<ReplyHead, "length" | "isChunked" | "isKept"> | null {
  const coding = findHeader(headers, "transfer-encoding");
  const announced = findHeader(headers, "content-length");
  const isDoubled = countHeaders(headers, "content-length", "transfer-encoding") > 1;
  if (isDoubled || (announced !== null && !LENGTH.test(announced))) return null;
  if (coding !== null && (isOld || coding.toLowerCase() !== "chunked")) return null;
  const options = headers
    .flatMap((value, at) => (headers[at - 1] === "connection" && at % 2 === 1 ? [value] : []))
    .join()
    .toLowerCase()
    .split(/[\t ]*,[\t ]*/);
  const staysOpen = isOld ? options.includes("keep-alive") : !options.includes("close");
  const isEmpty = status < 200 || status === 204 || status === 304;
  const length = isEmpty ? 0 : announced === null ? null : Number(announced);
  const isChunked = coding !== null && !isEmpty;
  return { length, isChunked, isKept: staysOpen && (length !== null || isChunked) };
}

function findHeader(headers: readonly string[], name: string): string | null {
  for (let at = 0; at < headers.length; at += 2) if (headers[at] === name) return headers[at + 1]!;
  return null;
}

function countHeaders(headers: readonly string[], ...names: string[]): number {
  return headers.filter((text, at) => at % 2 === 0 && names.includes(text)).length;
}
