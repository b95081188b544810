// A server that speaks chat completions: one request to one replica, with its time limits.
import type { Clock } from "../../platform/clock.ts";
import type { TrustedEgress } from "../../platform/egress/index.ts";
import type { Ids } from "../../platform/ids.ts";
import type { Answer, Ask } from "./contract.ts";
import { explainBreak, judgeReply } from "./openai-failure.ts";
import { type Reading, readReply, readReplyStream } from "./openai-reply.ts";
import { type RequestForm, writeHeaders, writeRequest } from "./openai-request.ts";
import { createWatch } from "./watch.ts";

export interface OpenaiOptions extends RequestForm {
  /** Up to and with `/v1`. */
  url: string;
  api_key: string | null;
  headers: Readonly<Record<string, string>>;
  first_token_timeout_ms: number;
  stall_timeout_ms: number;
  egress: TrustedEgress;
  clock: Clock;
  ids: Ids;
}

/** One replica. Nothing of the caller's own headers goes with the request; its id does. */
export function createOpenai(options: OpenaiOptions): Answer {
  const { clock, egress, ids, stall_timeout_ms, first_token_timeout_ms } = options;
  const url = `${options.url.replace(/\/$/, "")}/chat/completions`;
  const headers = writeHeaders(options);

  return async (ask, ear, signal) => {
    const watch = createWatch(clock, signal, first_token_timeout_ms);
    try {
      const init = {
        method: "POST",
        headers: { ...headers, "x-request-id": ask.request_id },
        body: writeRequest(ask, options),
        signal: watch.signal,
      };
      const sent = await egress.fetch(url, init).catch((error) => explainBreak(error, watch));
      if (!(sent instanceof Response)) return sent;
      if (!sent.ok) return await judgeReply(sent, watch);
      const reading: Reading = { ask, ear, ids, watch, stall_timeout_ms };
      return await (isStream(ask, sent) ? readReplyStream : readReply)(sent, reading);
    } finally {
      watch.end();
    }
  };
}

/** A server that cannot stream answers whole, whatever it was asked. */
function isStream(ask: Ask, { headers }: Response): boolean {
  return ask.stream && !/^application\/json/i.test(headers.get("content-type") ?? "");
}
