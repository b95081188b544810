// Reads one HTTP/1.1 reply from the bytes of a connection, wherever they are cut.
import { findHeadEnd, type ReplyHead, readHead } from "./http-head.ts";

export interface ReplyEvents {
  onHead(head: ReplyHead): void;
  /** The next bytes of the body, without framing; the receiver owns them. */
  onBody(bytes: Buffer): void;
}

/** `open`: more is to come · `whole`: the reply has ended · `broken`: it is no HTTP. */
export type ReplyState = "open" | "whole" | "broken";

/** Maximum bytes of all heads of one reply, interim ones included. */
const HEAD_BYTES_MAX = 65_536;

export class ReplyReader {
  readonly #events: ReplyEvents;
  #head: ReplyHead | undefined;
  #held: Buffer | undefined;
  #headBytes = 0;
  #chunks: ChunkReader | undefined;
  #left = 0;
  #hasBegun = false;
  #hasSurplus = false;

  constructor(events: ReplyEvents) {
    this.#events = events;
  }

  get endsWithClose(): boolean {
    return this.#head?.length === null && !this.#chunks;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  get isKept(): boolean {
    return this.#head?.isKept === true && !this.#hasSurplus;
  }

  get hasSurplus(): boolean {
    return this.#hasSurplus;
  }

  /** Takes the next bytes, and may change them in place. */
  take(bytes: Buffer): ReplyState {
    this.#hasBegun = true;
    return this.#head ? this.#takeBody(this.#head, bytes, 0) : this.#takeHead(bytes);
  }

  #takeHead(bytes: Buffer): ReplyState {
    const heldLength = this.#held?.length ?? 0;
    const all: Buffer = this.#held ? Buffer.concat([this.#held, bytes]) : bytes;
    const end = findHeadEnd(all, Math.max(0, heldLength - 2));
    const isWhole = end !== -1;
    if (this.#headBytes + (isWhole ? end : all.length) > HEAD_BYTES_MAX) return "broken";
    this.#held = isWhole ? undefined : all;
    if (!isWhole) return "open";
    this.#headBytes += end;
    const head = readHead(all.toString("latin1", 0, end));
    // 101 would switch the connection to another protocol.
    if (!head || head.status === 101) return "broken";
    // RFC 9110, 15.2: interim replies may come unasked.
    if (head.status < 200) return end < all.length ? this.#takeHead(all.subarray(end)) : "open";
    this.#head = head;
    this.#left = head.length ?? 0;
    if (head.isChunked) this.#chunks = new ChunkReader();
    this.#events.onHead(head);
    return this.#takeBody(head, all, end);
  }

  #takeBody(head: ReplyHead, bytes: Buffer, from: number): ReplyState {
    if (this.#chunks) return this.#takeChunks(this.#chunks, bytes, from);
    if (head.length === null) {
      if (from < bytes.length) this.#events.onBody(bytes.subarray(from));
      return "open";
    }
    const end = Math.min(bytes.length, from + this.#left);
    if (end < bytes.length) this.#hasSurplus = true;
    this.#left -= end - from;
    if (end > from) this.#events.onBody(bytes.subarray(from, end));
    return this.#left === 0 ? "whole" : "open";
  }

  #takeChunks(chunks: ChunkReader, bytes: Buffer, from: number): ReplyState {
    const body = chunks.take(bytes, from);
    if (!body) return "broken";
    if (chunks.end < bytes.length) this.#hasSurplus = true;
    if (body.length > 0) this.#events.onBody(body);
    return chunks.isDone ? "whole" : "open";
  }
}

/** Maximum hexadecimal digits of a chunk's length: ten are a terabyte. */
const DIGITS_MAX = 10;
/** Maximum bytes of extensions between two chunks, and of all trailers. */
const FRAMING_BYTES_MAX = 16_384;

const LF = 0x0a;
const CR = 0x0d;

class ChunkReader {
  #part: "size" | "data" | "data end" | "trailers" | "done" = "size";
  #size = 0;
  #digits = 0;
  #isExtension = false;
  #isHalved = false;
  #isLineEmpty = true;
  #framingBytes = 0;
  #at = 0;

  get isDone(): boolean {
    return this.#part === "done";
  }

  get end(): number {
    return this.#at;
  }

  /**
   * Reads from `from`, moves the data together within the buffer and returns it; null if the
   * framing is broken.
   */
  take(bytes: Buffer, from: number): Buffer | null {
    let start = from;
    let filled = from;
    this.#at = from;
    while (this.#at < bytes.length && this.#part !== "done") {
      if (this.#part !== "data") {
        if (!this.#takeFraming(bytes[this.#at++]!)) return null;
        continue;
      }
      const at = this.#at;
      const end = Math.min(bytes.length, at + this.#size);
      // The first piece stays where it lies: most often it is the only one.
      if (filled === start) start = filled = at;
      if (filled !== at) bytes.copyWithin(filled, at, end);
      filled += end - at;
      this.#size -= end - at;
      this.#at = end;
      if (this.#size === 0) this.#part = "data end";
    }
    return bytes.subarray(start, filled);
  }

  #takeFraming(byte: number): boolean {
    if (byte === LF) return this.#endLine();
    if (this.#isHalved || ++this.#framingBytes > FRAMING_BYTES_MAX) return false;
    this.#isHalved = byte === CR;
    if (this.#isHalved) return true;
    this.#isLineEmpty = false;
    if (this.#part === "size" && !this.#isExtension) return this.#takeDigit(byte);
    return this.#part !== "data end" && isText(byte);
  }

  #takeDigit(byte: number): boolean {
    const digit = readDigit(byte);
    if (digit === -1) {
      this.#isExtension = this.#digits > 0 && (byte === 0x3b || byte === 0x20 || byte === 0x09);
      return this.#isExtension;
    }
    this.#size = this.#size * 16 + digit;
    return ++this.#digits <= DIGITS_MAX;
  }

  #endLine(): boolean {
    if (this.#part === "data end") this.#part = "size";
    else if (this.#part === "trailers") {
      if (this.#isLineEmpty) this.#part = "done";
    } else {
      if (this.#digits === 0) return false;
      this.#part = this.#size > 0 ? "data" : "trailers";
      this.#digits = 0;
      this.#framingBytes = 0;
      this.#isExtension = false;
    }
    this.#isHalved = false;
    this.#isLineEmpty = true;
    return true;
  }
}

function readDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

function isText(byte: number): boolean {
  return (byte >= 0x20 && byte !== 0x7f) || byte === 0x09;
}
