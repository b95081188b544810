// A replica under test: the test scripts the server, and the pipeline's output is collected.
import type { Chunk, ModelRequest, OnChunk } from "../../../src/models/providers/contract.ts";
import {
  createOpenaiProvider,
  type OpenaiProviderOptions,
} from "../../../src/models/providers/openai/provider.ts";
import { withoutReasoning } from "../../../src/models/providers/reasoning-filter.ts";
import { createTrustedEgress, type Exchange, type ReplyListener } from "../../../src/net/index.ts";
import { guardCallback } from "../../../src/platform/error-boundary.ts";
import { createAsk } from "../../support/ask.ts";
import { createManualClock } from "../../support/clock.ts";
import { createSeededIds } from "../../support/ids.ts";

export interface Sent {
  url: string;
  headers: Record<string, string>;
  /** The request bodies sent to the server, parsed. */
  body: Record<string, unknown>;
}

/** A reply without any socket, or the URL of a real server. */
export type Server = string | ((sent: Sent) => Response | Promise<Response>);

export function connectReplica(server: Server, some: Partial<OpenaiProviderOptions> = {}) {
  const clock = createManualClock();
  const sent: Sent[] = [];
  const egress = createTrustedEgress({ clock });
  const openai = createOpenaiProvider({
    url: typeof server === "string" ? server : "http://model.test/v1",
    model: "model-1",
    api_key: null,
    headers: {},
    reasoning_on: {},
    reasoning_off: {},
    tool_choice_by_name: true,
    connect_timeout_ms: 5_000,
    first_token_timeout_ms: 120_000,
    stall_timeout_ms: 60_000,
    clock,
    ids: createSeededIds(),
    egress: {
      close: egress.close,
      open(url, options) {
        const real = egress.open(url, options);
        return {
          get: real.get,
          post(body, own, listener, account) {
            const headers = { ...options.headers, ...own };
            const one = { url, headers, body: JSON.parse(body) };
            sent.push(one);
            if (typeof server === "string") return real.post(body, own, listener, account);
            return play(server(one), listener);
          },
        };
      },
    },
    ...some,
  });
  const answer = withoutReasoning(openai, { reasons: false, thought_opens: "reply" });
  return {
    clock,
    sent,
    egress,
    /** Collects the chunks in `heard`, and passes them to `onChunk`. */
    ask(
      fields: Partial<ModelRequest> = {},
      onChunk: OnChunk = () => undefined,
      caller = new AbortController(),
    ) {
      const heard: Chunk[] = [];
      const began = Promise.withResolvers<void>();
      const listener: OnChunk = (piece) => {
        heard.push(piece);
        began.resolve();
        return onChunk(piece);
      };
      const completion = answer(createAsk("Hello", fields), listener, caller.signal);
      return { heard, caller, completion, began: began.promise };
    },
  };
}

/** Passes a reply to a listener, piece by piece, as a connection does. */
function play(reply: Response | Promise<Response>, listener: ReplyListener): Exchange {
  let isCut = false;
  let held: Promise<void> = Promise.resolve();
  let release = () => {};
  const own = (say: () => void) => guardCallback((bug) => listener.onBug(bug), say)();
  const tell = async () => {
    const { status, headers, body } = await reply;
    const length = headers.get("content-length");
    listener.onHead({
      status,
      header: (name) => headers.get(name),
      length: length === null ? null : Number(length),
      isChunked: false,
      isKept: true,
    });
    for await (const bytes of body ?? []) {
      await held;
      if (isCut) return;
      own(() => listener.onBody(Buffer.from(bytes)));
    }
    await held;
    if (!isCut) own(() => listener.onEnd());
  };
  tell().catch(() => listener.onFailure("reset"));
  return {
    cut() {
      isCut = true;
    },
    pause() {
      ({ promise: held, resolve: release } = Promise.withResolvers<void>());
    },
    resume: () => release(),
  };
}

/** The joined output. */
export function joinText(heard: readonly Chunk[]): string {
  return heard.map((piece) => (piece.kind === "text" ? piece.text : "")).join("");
}
