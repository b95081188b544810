// Asks a server for one whole reply: what its health, its lists and its counts are read from.
import type { FetchFailure, TrustedServer } from "../../net/index.ts";
import { type BodyReader, createTextReader } from "./body.ts";

export interface TextReply {
  status: number;
  header(name: string): string | null;
  /** null: it was larger than allowed, or packed in a way that we cannot unpack. */
  text: string | null;
}

/** `left`: the signal aborted before the reply was whole. */
export interface NoReply {
  status: null;
  failure: FetchFailure | "left";
}

export interface TextRequest {
  /** Left out: a GET. */
  body?: string;
  /** Whose question it is; `OWN_ACCOUNT`: the program's own. */
  account: string;
  headers?: Readonly<Record<string, string>>;
  bytes_max: number;
  signal: AbortSignal;
}

/**
 * What fails is a value, and only a bug rejects; whatever is still open at the end, as of a reply
 * too large, is cut.
 */
export function fetchText(
  server: TrustedServer,
  request: TextRequest,
): Promise<TextReply | NoReply> {
  const { body, account, headers = {}, bytes_max, signal } = request;
  const { promise, resolve, reject } = Promise.withResolvers<TextReply | NoReply>();
  let reader: BodyReader;
  const listener = {
    onHead(head: Parameters<typeof createTextReader>[0]) {
      const { status } = head;
      const header = (name: string) => head.header(name);
      const end = (text: string | null) => resolve({ status, header, text });
      reader = createTextReader(head, {
        bytes_max,
        judge: end,
        onTooLarge: () => end(null),
        onPacked: () => end(null),
        breakOff: (why) => why,
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
    exchange.cut();
  });
}
