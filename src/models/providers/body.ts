// Reads whole replies of model servers within a limit, and the JSON in them.

import { brotliDecompressSync, inflateSync, unzipSync } from "node:zlib";
import type { FetchFailure, ReplyHead, TrustedServer } from "../../net/index.ts";
import type { Completion, UpstreamError } from "./contract.ts";
import type { TimeoutReason } from "./openai/errors.ts";

export interface BodyReader {
  take(bytes: Buffer): void;
  end(): void;
  /** The reply broke off by itself (`cut` is null) or was cut; returns its completion. */
  breakOff(failure: UpstreamError, cut: TimeoutReason | null): Completion;
}

export interface TextReaderOptions {
  bytesMax: number;
  onText(text: string): void;
  onUnreadable(problem: "large" | "packed"): void;
  breakOff: BodyReader["breakOff"];
}

export function createTextReader(head: ReplyHead, options: TextReaderOptions): BodyReader {
  const { bytesMax, onText, onUnreadable, breakOff } = options;
  const parts: Buffer[] = [];
  let length = 0;
  if ((head.length ?? 0) > bytesMax) onUnreadable("large");
  return {
    take(bytes) {
      length += bytes.length;
      parts.push(bytes);
      if (length > bytesMax) onUnreadable("large");
    },
    end() {
      const whole = parts.length === 1 ? parts[0]! : Buffer.concat(parts, length);
      const plain = unpack(whole, head.header("content-encoding"), bytesMax);
      if (!plain) return onUnreadable("packed");
      const text = plain.toString();
      // A byte-order mark is no part of the text.
      onText(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
    },
    breakOff,
  };
}

/** Unpacks what a proxy packed, although we ask for plain replies. */
function unpack(bytes: Buffer, encoding: string | null, bytesMax: number): Buffer | null {
  const limit = { maxOutputLength: bytesMax };
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

export interface TextReply {
  status: number;
  header(name: string): string | null;
  text: string | null;
}

export interface NoReply {
  status: null;
  /** `left`: the signal aborted before the reply was whole. */
  failure: FetchFailure | "left";
}

export interface TextRequest {
  body?: string;
  account: string;
  headers?: Readonly<Record<string, string>>;
  bytesMax: number;
  signal: AbortSignal;
}

/** Fetches one whole reply. Failures are values, and only a bug rejects. */
export function fetchText(
  server: TrustedServer,
  request: TextRequest,
): Promise<TextReply | NoReply> {
  const { body, account, headers = {}, bytesMax, signal } = request;
  const { promise, resolve, reject } = Promise.withResolvers<TextReply | NoReply>();
  let reader: BodyReader;
  const listener = {
    onHead(head: ReplyHead) {
      const { status } = head;
      const header = (name: string) => head.header(name);
      const end = (text: string | null) => resolve({ status, header, text });
      reader = createTextReader(head, {
        bytesMax,
        onText: end,
        onUnreadable: () => end(null),
        breakOff: (failure) => failure,
      });
    },
    onBody: (bytes: Buffer) => reader.take(bytes),
    onEnd: () => reader.end(),
    onFailure: (failure: FetchFailure) => resolve({ status: null, failure }),
    onBug: reject,
  };
  const leave = () => resolve({ status: null, failure: "left" });
  if (signal.aborted) {
    leave();
    return promise;
  }
  const exchange =
    body === undefined
      ? server.get(headers, listener, account)
      : server.post(body, headers, listener, account);
  signal.addEventListener("abort", leave, { once: true });
  return promise.finally(() => {
    signal.removeEventListener("abort", leave);
    // Also ends a reply that is too large.
    exchange.cut();
  });
}

export function isGood(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}

export function isRouteAbsent(status: number): boolean {
  return [404, 405, 501].includes(status);
}
