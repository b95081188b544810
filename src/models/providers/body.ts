// Reads the whole body of a model server's reply within a limit, and JSON objects.
import { brotliDecompressSync, inflateSync, unzipSync } from "node:zlib";
import type { ReplyHead } from "../../net/index.ts";
import type { Completion, UpstreamError } from "./contract.ts";
import type { TimeoutReason } from "./timeouts.ts";

/** Reads the body of a reply, and settles what it comes to. */
export interface BodyReader {
  take(bytes: Buffer): void;
  end(): void;
  /**
   * It broke off by itself (`cut` is null) or is cut off; says what it comes to, and tells the ear
   * nothing more.
   */
  breakOff(why: UpstreamError, cut: TimeoutReason | null): Completion;
}

export interface TextReading {
  bytes_max: number;
  judge(text: string): void;
  /** It is too large, and nothing more is read. */
  onTooLarge(): void;
  /** It is packed in a way that we do not know, or that is broken. */
  onPacked(): void;
  breakOff: BodyReader["breakOff"];
}

export function createTextReader(head: ReplyHead, reading: TextReading): BodyReader {
  const { bytes_max, judge, onTooLarge, onPacked, breakOff } = reading;
  const pieces: Buffer[] = [];
  let length = 0;
  if ((head.length ?? 0) > bytes_max) onTooLarge();
  return {
    take(bytes) {
      length += bytes.length;
      pieces.push(bytes);
      if (length > bytes_max) onTooLarge();
    },
    end() {
      const whole = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, length);
      const plain = unpack(whole, head.header("content-encoding"), bytes_max);
      if (!plain) return onPacked();
      const text = plain.toString();
      // A byte-order mark is no part of the text.
      judge(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
    },
    breakOff,
  };
}

/** We ask for plain replies; what stands in between may pack them all the same. */
function unpack(bytes: Buffer, encoding: string | null, bytes_max: number): Buffer | null {
  const limit = { maxOutputLength: bytes_max };
  try {
    switch (encoding?.toLowerCase() ?? "identity") {
      case "":
      case "identity":
        return bytes;
      case "gzip":
      case "x-gzip":
        return unzipSync(bytes, limit);
      case "deflate":
        return inflateSync(bytes, limit);
      case "br":
        return brotliDecompressSync(bytes, limit);
      default:
        return null;
    }
  } catch {
    return null;
  }
}

/** null: the text is no JSON object. */
export function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}
