// Reads the head of an HTTP/1.1 reply by the letter: what could be read in two ways is refused.

/** A reply's status line, its headers, and how long its body is. */
export interface ReplyHead {
  status: number;
  /** The first value under this name, written in lower case; null: there is none. */
  header(name: string): string | null;
  /** Bytes of the body; null: they are not told beforehand. */
  length: number | null;
  isChunked: boolean;
  /** The connection may be used again after this reply. */
  isKept: boolean;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?\r?\n$/;
/** Every line has a name that is a token, directly before its colon; none goes on in the next. */
const HEADER_LINES = /^(?:[!#$%&'*+.^_`|~\w-]+:[\t\x20-\x7e\x80-\xff]*\r?\n)*$/;
/** A terabyte: counting goes on exactly. */
const LENGTH = /^\d{1,12}$/;

/**
 * Where the head that begins a reply ends, its blank line included, seen from `from` on; -1: later.
 */
export function findHeadEnd(bytes: Uint8Array, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    if (bytes[at] !== 0x0a) continue;
    const next = bytes[at + 1];
    if (next === 0x0a) return at + 2;
    if (next === 0x0d && bytes[at + 2] === 0x0a) return at + 3;
  }
  return -1;
}

/** Reads a whole head, blank line included, decoded byte by byte; null: it is not well formed. */
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

/** Names in lower case and values, in turn. */
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

/** RFC 9112, 6.3: how the end of the body is known; null: it is told in two ways, or in none. */
function readFraming(
  headers: readonly string[],
  status: number,
  isOld: boolean,
): Pick<ReplyHead, "length" | "isChunked" | "isKept"> | null {
  const coding = findHeader(headers, "transfer-encoding");
  const told = findHeader(headers, "content-length");
  const isDoubled = countHeaders(headers, "content-length", "transfer-encoding") > 1;
  if (isDoubled || (told !== null && !LENGTH.test(told))) return null;
  if (coding !== null && (isOld || coding.toLowerCase() !== "chunked")) return null;
  const options = headers
    .flatMap((value, at) => (headers[at - 1] === "connection" && at % 2 === 1 ? [value] : []))
    .join()
    .toLowerCase()
    .split(/[\t ]*,[\t ]*/);
  const wishes = isOld ? options.includes("keep-alive") : !options.includes("close");
  const isEmpty = status < 200 || status === 204 || status === 304;
  const length = isEmpty ? 0 : told === null ? null : Number(told);
  const isChunked = coding !== null && !isEmpty;
  return { length, isChunked, isKept: wishes && (length !== null || isChunked) };
}

function findHeader(headers: readonly string[], name: string): string | null {
  for (let at = 0; at < headers.length; at += 2) if (headers[at] === name) return headers[at + 1]!;
  return null;
}

function countHeaders(headers: readonly string[], ...names: string[]): number {
  return headers.filter((text, at) => at % 2 === 0 && names.includes(text)).length;
}
