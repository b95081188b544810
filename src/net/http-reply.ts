// Reads one HTTP/1.1 reply from the bytes of a connection, wherever they are cut.
import { type ChunkReader, createChunkReader } from "./http-chunks.ts";
import { findHeadEnd, type ReplyHead, readHead } from "./http-head.ts";

/** Hears a reply as it comes. */
export interface ReplyEvents {
  onHead(head: ReplyHead): void;
  /** The next bytes of the body, without framing; they are the ear's to keep. */
  onBody(bytes: Buffer): void;
}

/** `open`: more is to come · `whole`: the reply has ended · `broken`: it is no HTTP. */
export type ReplyState = "open" | "whole" | "broken";

export interface ReplyReader {
  /** Takes the next bytes, which it may change. */
  take(bytes: Buffer): ReplyState;
  /** The peer's close is the reply's end. */
  readonly endsWithClose: boolean;
  /** Something of a reply has come. */
  readonly hasBegun: boolean;
  /** The connection may be used again, now that the reply is whole. */
  readonly isKept: boolean;
  /** Bytes came behind the whole reply that nobody had asked for. */
  readonly hasSurplus: boolean;
}

/** All heads of one reply together, interim ones included. */
const HEAD_BYTES_MAX = 65_536;

/** Makes a reader for the reply to one request. */
export function createReplyReader(onChunk: ReplyEvents): ReplyReader {
  let head: ReplyHead | null = null;
  /** The start of a head whose end is still to come. */
  let held: Buffer | null = null;
  let headBytes = 0;
  let chunks: ChunkReader | null = null;
  /** Bytes of a body with a length that are still to come. */
  let left = 0;
  let hasBegun = false;
  let isKept = false;
  let hasSurplus = false;

  const takeHead = (bytes: Buffer): ReplyState => {
    const all: Buffer = held ? Buffer.concat([held, bytes]) : bytes;
    const end = findHeadEnd(all, Math.max(0, (held?.length ?? 0) - 2));
    const isWhole = end !== -1;
    if (headBytes + (isWhole ? end : all.length) > HEAD_BYTES_MAX) return "broken";
    held = isWhole ? null : all;
    if (!isWhole) return "open";
    headBytes += end;
    const read = readHead(all.toString("latin1", 0, end));
    // 101 would make the connection speak something else, which nobody asked for.
    if (!read || read.status === 101) return "broken";
    // RFC 9110, 15.2: interim replies may come unasked, and nobody here waits for them.
    if (read.status < 200) return end < all.length ? takeHead(all.subarray(end)) : "open";
    head = read;
    isKept = read.isKept;
    left = read.length ?? 0;
    if (read.isChunked) chunks = createChunkReader();
    onChunk.onHead(read);
    return takeBody(all, end);
  };
  const takeBody = (bytes: Buffer, from: number): ReplyState => {
    if (chunks) return takeChunks(chunks, bytes, from);
    if (head!.length === null) {
      if (from < bytes.length) onChunk.onBody(bytes.subarray(from));
      return "open";
    }
    const end = Math.min(bytes.length, from + left);
    if (end < bytes.length) hasSurplus = true;
    left -= end - from;
    if (end > from) onChunk.onBody(bytes.subarray(from, end));
    return left === 0 ? "whole" : "open";
  };
  const takeChunks = (reader: ChunkReader, bytes: Buffer, from: number): ReplyState => {
    const body = reader.take(bytes, from);
    if (!body) return "broken";
    if (reader.end < bytes.length) hasSurplus = true;
    if (body.length > 0) onChunk.onBody(body);
    return reader.isDone ? "whole" : "open";
  };
  return {
    take(bytes) {
      hasBegun = true;
      return head ? takeBody(bytes, 0) : takeHead(bytes);
    },
    get endsWithClose() {
      return head !== null && head.length === null && !chunks;
    },
    get hasBegun() {
      return hasBegun;
    },
    get isKept() {
      return isKept && !hasSurplus;
    },
    get hasSurplus() {
      return hasSurplus;
    },
  };
}
