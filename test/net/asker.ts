// Sends a request through the trusted egress, and records the listener's calls.
import type { Exchange, FetchFailure, ReplyHead, ReplyListener } from "../../src/net/index.ts";
import { createTrustedEgress, type TrustedOptions } from "../../src/net/trusted.ts";
import { createManualClock } from "../support/clock.ts";

export interface ReceivedReply {
  head: ReplyHead | null;
  body: string;
  /** How it ended: with the reply, or with a failure. */
  end: "whole" | FetchFailure;
}

export interface SentRequest {
  exchange: Exchange;
  /** Resolves with the head. */
  begun: Promise<ReplyHead>;
  /** Resolves with the first bytes of the body. */
  first: Promise<void>;
  ended: Promise<ReceivedReply>;
  /** The reply so far. */
  heard: Omit<ReceivedReply, "end">;
}

export interface AskerOptions {
  /** The same account by default. */
  account?: string;
  headers?: Record<string, string>;
  body?: string;
  /** Called for a piece of the body, before anything else. */
  onBody?(exchange: () => Exchange): void;
}

/** An egress on a stopped clock. */
export function createAsker(options: Omit<Partial<TrustedOptions>, "clock"> = {}) {
  const clock = createManualClock();
  const egress = createTrustedEgress({ clock, ...options });
  return {
    clock,
    egress,
    /** Ends the turn that a connection rests before its next request. */
    rest: () => clock.advance(1),
    ask(url: string, options: AskerOptions = {}): SentRequest {
      const begun = Promise.withResolvers<ReplyHead>();
      const first = Promise.withResolvers<void>();
      const ended = Promise.withResolvers<ReceivedReply>();
      const pieces: Buffer[] = [];
      let head: ReplyHead | null = null;
      const tell = () => ({ head, body: Buffer.concat(pieces).toString() });
      const server = egress.open(url, { headers: {}, connectTimeoutMs: 5_000 });
      const { body = "x", headers = {}, account = "account-1" } = options;
      const listener: ReplyListener = {
        onHead(replyHead) {
          head = replyHead;
          begun.resolve(replyHead);
        },
        onBody(bytes) {
          pieces.push(bytes);
          options.onBody?.(() => exchange);
          first.resolve();
        },
        onEnd: () => ended.resolve({ ...tell(), end: "whole" }),
        onFailure: (failure) => ended.resolve({ ...tell(), end: failure }),
        onBug: ended.reject,
      };
      const exchange = server.post(body, headers, listener, account);
      return {
        exchange,
        begun: begun.promise,
        first: first.promise,
        ended: ended.promise,
        get heard() {
          return tell();
        },
      };
    },
  };
}
