// Asks one model server what it says of itself: each question, all of them and each answer have
// their bounds.

import { OWN_ACCOUNT, type TrustedEgress } from "../../net/index.ts";
import { abortAfter, type Clock } from "../../platform/clock.ts";
import { fetchText, type NoReply, parseObject } from "../providers/body.ts";
import { writeHeaders } from "../providers/openai/request.ts";

/** A server that is well answers its own routes at once. */
const QUESTION_MS = 5_000;
/** One token takes longer where the model has to be loaded first. */
const CHAT_MS = 20_000;
/** A list of models and a template are far smaller. */
const REPLY_BYTES_MAX = 1_048_576;

export type ProbeJson = Readonly<Record<string, unknown>>;

export interface ProbeReply {
  /** null: no reply came, for the reason of `failure`. */
  status: number | null;
  failure: NoReply["failure"] | null;
  /** The reply as it came; null: there was none, or one too large. */
  text: string | null;
  /** The reply where it was a good one and a JSON object. */
  json: ProbeJson | null;
  /** What its Date header says, in milliseconds since 1970. */
  date: number | null;
  took_ms: number;
}

export interface ProbeClient {
  /** Both take a whole address. */
  get(url: string): Promise<ProbeReply>;
  post(url: string, body: object): Promise<ProbeReply>;
  /** Aborts when everything together has taken too long. */
  signal: AbortSignal;
  end(): void;
}

export interface ProbeClientOptions {
  api_key: string | null;
  headers: Readonly<Record<string, string>>;
  egress: TrustedEgress;
  clock: Clock;
  /** All questions together. */
  total_ms: number;
}

/** A server's patience is not ours to try: after `end`, or in time, nothing is asked any more. */
export function createProbeClient(options: ProbeClientOptions): ProbeClient {
  const { egress, clock } = options;
  const headers = writeHeaders(options);
  const total = abortAfter(clock, options.total_ms);
  const ask = async (url: string, body?: string): Promise<ProbeReply> => {
    const began = clock.monotonic();
    const limit = abortAfter(clock, body === undefined ? QUESTION_MS : CHAT_MS, total.signal);
    const server = egress.open(url, { headers, connectTimeoutMs: QUESTION_MS });
    const account = OWN_ACCOUNT;
    const request = { body, account, bytesMax: REPLY_BYTES_MAX, signal: limit.signal };
    const reply = await fetchText(server, request);
    limit.cancel();
    const took_ms = Math.round(clock.monotonic() - began);
    if (reply.status === null) {
      const { failure } = reply;
      return { status: null, failure, text: null, json: null, date: null, took_ms };
    }
    const { status, text, header } = reply;
    const json = text !== null && isGood(status) ? parseObject(text) : null;
    const date = Date.parse(header("date") ?? "");
    const told = Number.isNaN(date) ? null : date;
    return { status, failure: null, text, json, date: told, took_ms };
  };
  return {
    get: (url) => ask(url),
    post: (url, body) => ask(url, JSON.stringify(body)),
    signal: total.signal,
    end: total.cancel,
  };
}

export function isGood(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}
