// One replica under test: what the server sends is said by the test, what the pipeline hears is written down.
import type { Ask, Ear, Piece } from "../../../src/models/upstream/contract.ts";
import { createOpenai, type OpenaiOptions } from "../../../src/models/upstream/openai.ts";
import { createTrustedEgress, type TrustedInit } from "../../../src/platform/egress/index.ts";
import { createAsk } from "../../support/ask.ts";
import { createManualClock } from "../../support/clock.ts";
import { createSeededIds } from "../../support/ids.ts";

export interface Sent {
  url: string;
  init: TrustedInit;
  /** What the server is asked, parsed. */
  body: Record<string, unknown>;
}

/** A reply without any socket, or the URL of a real server. */
export type Server = string | ((sent: Sent) => Response | Promise<Response>);

export function connectReplica(server: Server, some: Partial<OpenaiOptions> = {}) {
  const clock = createManualClock();
  const sent: Sent[] = [];
  const egress = createTrustedEgress();
  const answer = createOpenai({
    url: typeof server === "string" ? server : "http://model.test/v1",
    model: "model-1",
    api_key: null,
    headers: {},
    reasoning_on: {},
    reasoning_off: {},
    tool_choice_by_name: true,
    first_token_timeout_ms: 120_000,
    stall_timeout_ms: 60_000,
    clock,
    ids: createSeededIds(),
    egress: {
      close: egress.close,
      async fetch(url, init = {}) {
        const one = { url, init, body: JSON.parse(init.body as string) };
        sent.push(one);
        return typeof server === "string" ? egress.fetch(url, init) : server(one);
      },
    },
    ...some,
  });
  return {
    clock,
    sent,
    /** `ear` hears what `heard` writes down. */
    ask(fields: Partial<Ask> = {}, ear: Ear = () => undefined) {
      const heard: Piece[] = [];
      const caller = new AbortController();
      const began = Promise.withResolvers<void>();
      const hear: Ear = (piece) => {
        heard.push(piece);
        began.resolve();
        return ear(piece);
      };
      const ending = answer(createAsk("Hello", fields), hear, caller.signal);
      return { heard, caller, ending, began: began.promise };
    },
  };
}

/** What was heard, joined. */
export function joinText(heard: readonly Piece[]): string {
  return heard.map((piece) => (piece.kind === "text" ? piece.text : "")).join("");
}
