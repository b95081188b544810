// Asks a server through the trusted way out, and writes down what the listener hears.
import type { Exchange, FetchFailure, ReplyHead, ReplyListener } from "../../src/net/index.ts";
import { createTrustedEgress, type TrustedOptions } from "../../src/net/trusted.ts";
import { createManualClock } from "../support/clock.ts";

export interface Heard {
  head: ReplyHead | null;
  body: string;
  /** Where it ended: with the reply, or with a failure. */
  end: "whole" | FetchFailure;
}

export interface Asked {
  exchange: Exchange;
  /** The head has come. */
  begun: Promise<ReplyHead>;
  /** The first bytes of the body have come. */
  first: Promise<void>;
  ended: Promise<Heard>;
  /** What was heard so far. */
  heard: Omit<Heard, "end">;
}

export interface AskerOptions {
  /** Left out: always the same. */
  account?: string;
  headers?: Record<string, string>;
  body?: string;
  /** Hears that a piece of the body has come, before anything else does. */
  onBody?(exchange: () => Exchange): void;
}

/** A way out on a clock that stands still. */
export function createAsker(options: Omit<Partial<TrustedOptions>, "clock"> = {}) {
  const clock = createManualClock();
  const egress = createTrustedEgress({ clock, ...options });
  return {
    clock,
    egress,
    /** Ends the turn that a connection rests before its next request. */
    rest: () => clock.advance(1),
    ask(url: string, options: AskerOptions = {}): Asked {
      const begun = Promise.withResolvers<ReplyHead>();
      const first = Promise.withResolvers<void>();
      const ended = Promise.withResolvers<Heard>();
      const pieces: Buffer[] = [];
      let head: ReplyHead | null = null;
      const tell = () => ({ head, body: Buffer.concat(pieces).toString() });
      const server = egress.open(url, { headers: {}, connectTimeoutMs: 5_000 });
      const { body = "x", headers = {}, account = "account-1" } = options;
      const listener: ReplyListener = {
        onHead(given) {
          head = given;
          begun.resolve(given);
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
