// Sends probes to one model server within bounds, and reads its JSON.

import { OWN_ACCOUNT, type TrustedEgress } from "../../net/index.ts";
import { abortAfter, type Clock } from "../../platform/clock.ts";
import { parseObject } from "../../platform/json.ts";
import { fetchText, isGood, type NoReply } from "../providers/body.ts";
import { createPlainRequest, type ModelRequest } from "../providers/contract.ts";
import { writeHeaders } from "../providers/openai/request.ts";

/** Maximum time of a GET; a healthy server answers at once. */
const GET_MS = 5_000;
/** Maximum time of a POST; a model may have to be loaded first. */
const POST_MS = 20_000;
/** Maximum size of a reply; lists of models and templates are far smaller. */
const REPLY_BYTES_MAX = 1_048_576;

export type ProbeJson = Readonly<Record<string, unknown>>;

export interface ProbeReply {
  /** Status; null without a reply, for the reason of `failure`. */
  status: number | null;
  failure: NoReply["failure"] | null;
  text: string | null;
  json: ProbeJson | null;
  /** Date header in milliseconds since 1970. */
  date: number | null;
  tookMs: number;
}

export interface ProbeClient {
  get(url: string): Promise<ProbeReply>;
  post(url: string, body: object): Promise<ProbeReply>;
  signal: AbortSignal;
  end(): void;
}

export interface ProbeClientOptions {
  api_key: string | null;
  headers: Readonly<Record<string, string>>;
  egress: TrustedEgress;
  clock: Clock;
  totalMs: number;
}

/** Sends nothing after `end`, or after the time for all probes. */
export function createProbeClient(options: ProbeClientOptions): ProbeClient {
  const { egress, clock } = options;
  const headers = writeHeaders(options);
  const total = abortAfter(clock, options.totalMs);
  const send = async (url: string, body?: string): Promise<ProbeReply> => {
    const began = clock.monotonic();
    const limit = abortAfter(clock, body === undefined ? GET_MS : POST_MS, total.signal);
    const server = egress.open(url, { headers, connectTimeoutMs: GET_MS });
    const account = OWN_ACCOUNT;
    const request = { body, account, bytesMax: REPLY_BYTES_MAX, signal: limit.signal };
    const reply = await fetchText(server, request);
    limit.cancel();
    const tookMs = Math.round(clock.monotonic() - began);
    if (reply.status === null) {
      const { failure } = reply;
      return { status: null, failure, text: null, json: null, date: null, tookMs };
    }
    const { status, text, header } = reply;
    const json = text !== null && isGood(status) ? parseObject(text) : null;
    const date = Date.parse(header("date") ?? "");
    return { status, failure: null, text, json, date: Number.isNaN(date) ? null : date, tookMs };
  };
  return {
    get: (url) => send(url),
    post: (url, body) => send(url, JSON.stringify(body)),
    signal: total.signal,
    end: total.cancel,
  };
}

const TEXT_CHARACTERS_MAX = 256;
const TOKENS_MAX = 100_000_000;

/** Reads a short text on one line that is safe on a terminal. */
export function readWord(value: unknown): string | null {
  const isWord =
    typeof value === "string" &&
    value !== "" &&
    value.length <= TEXT_CHARACTERS_MAX &&
    !/[\p{C}\p{Zl}\p{Zp}]/u.test(value);
  return isWord ? value : null;
}

export function readCount(value: unknown): number | null {
  const isCount = Number.isSafeInteger(value) && (value as number) > 0;
  return isCount && (value as number) <= TOKENS_MAX ? (value as number) : null;
}

export function readFlag(value: unknown): boolean | null {
  return typeof value === "boolean" ? value : null;
}

export function createProbeRequest(request_id: string): ModelRequest {
  const messages = [{ role: "user" as const, content: "Hi" }];
  return createPlainRequest({ request_id, account: "", messages, max_tokens: 1 });
}
