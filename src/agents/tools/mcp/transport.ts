// One JSON-RPC message over Streamable HTTP, through the guarded egress, and the answer to it.
import type { FetchFailure, GuardedEgress, GuardedReply, ReplyHead } from "../../../net/index.ts";
import { type Clock, wait } from "../../../platform/clock.ts";
import type { JsonObject } from "../../../platform/json.ts";
import { readMediaType } from "../page/content.ts";
import {
  EventReader,
  type RpcAnswer,
  type RpcId,
  type RpcMessage,
  readMessage,
} from "./messages.ts";

/** Maximum bytes of a reply: one JSON text, or a whole event stream. */
const REPLY_BYTES_MAX = 2 * 1024 * 1024;
const RESUME_MS = 1_000;
const RESUME_MS_MIN = 100;
/** Maximum requests for the rest of a stream; a server may end it and be polled. */
const RESUMES_MAX = 100;

export interface McpSend {
  url: string;
  headers: Readonly<Record<string, string>>;
  message: JsonObject;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Called for what the server sends beside the answer. */
  onMessage?: ((message: Exclude<RpcMessage, { kind: "answer" }>) => void) | undefined;
}

export interface McpFailure {
  ok: false;
  code: FetchFailure | "forbidden" | "refused_status" | "no_answer" | "too_long";
  /** The request may have reached the server. */
  sent: boolean;
  status: number | null;
  /** A sentence for the model and for people. */
  message: string;
}

export type McpOutcome =
  | { ok: true; status: number; header(name: string): string | null; answer: RpcAnswer }
  | McpFailure;

export interface TransportDeps {
  egress: Pick<GuardedEgress, "request">;
  clock: Clock;
}

/** Sends a request, and waits for the answer with its id; all other ids are ignored. */
export async function sendRequest(deps: TransportDeps, send: McpSend): Promise<McpOutcome> {
  const { egress, clock } = deps;
  const id = send.message.id as RpcId;
  const endAt = clock.monotonic() + send.timeoutMs;
  const body = JSON.stringify(send.message);
  let resumed: Record<string, string> | null = null;
  for (let resumes = 0; ; resumes++) {
    const reading = new AnswerReading(id, send.onMessage);
    const reply = await egress.request({
      ...(resumed ? { method: "GET" } : { method: "POST", body }),
      url: send.url,
      headers: { ...writeHeaders(send.headers), ...resumed },
      timeoutMs: Math.max(1, endAt - clock.monotonic()),
      responseBytesMax: REPLY_BYTES_MAX,
      ...(send.signal && { signal: send.signal }),
      readPiece: (bytes, head) => reading.take(bytes, head),
    });
    // A stream that breaks off behind an event id goes on with the next request.
    const { lastId, retryMs } = reading.events;
    const isOver = reading.answer !== undefined || lastId === null || resumes === RESUMES_MAX;
    const isBroken = reply.ok ? reading.isStream && !reply.truncated : reply.code === "reset";
    if (isOver || !isBroken) return reading.judge(reply);
    const pauseMs = Math.max(retryMs ?? RESUME_MS, RESUME_MS_MIN);
    if (clock.monotonic() + pauseMs >= endAt) return failLate();
    if (!(await wait(clock, pauseMs, send.signal))) return failLate("aborted");
    resumed = { "last-event-id": lastId, accept: "text/event-stream" };
  }
}

const NOTE_BYTES_MAX = 16_384;

/** Sends what has no answer; null once the server has accepted it. */
export async function sendNote(
  { egress }: Pick<TransportDeps, "egress">,
  { url, headers, message, timeoutMs, signal }: McpSend,
): Promise<McpFailure | null> {
  const reply = await egress.request({
    method: "POST",
    url,
    headers: writeHeaders(headers),
    body: JSON.stringify(message),
    timeoutMs,
    responseBytesMax: NOTE_BYTES_MAX,
    ...(signal && { signal }),
    // An empty stream could stay open.
    readPiece: () => true,
  });
  if (!reply.ok) return reply;
  return isSuccess(reply.status) ? null : refuseStatus(reply);
}

/** Ends a session; a server need not support that. */
export async function sendEnd(
  { egress }: Pick<TransportDeps, "egress">,
  { url, headers, timeoutMs }: Pick<McpSend, "url" | "headers" | "timeoutMs">,
): Promise<void> {
  await egress.request({
    method: "DELETE",
    url,
    headers: { ...headers },
    timeoutMs,
    responseBytesMax: NOTE_BYTES_MAX,
    readPiece: () => true,
  });
}

function writeHeaders(headers: McpSend["headers"]): Record<string, string> {
  const accept = "application/json, text/event-stream";
  return { "content-type": "application/json", accept, ...headers };
}

/** Reads one reply for the answer to a request. */
class AnswerReading {
  readonly events = new EventReader();
  answer: RpcAnswer | undefined;
  isStream = false;
  readonly #id: RpcId;
  readonly #onMessage: McpSend["onMessage"];

  constructor(id: RpcId, onMessage: McpSend["onMessage"]) {
    this.#id = id;
    this.#onMessage = onMessage;
  }

  /** Returns true once the answer has come, after which no more is read. */
  take(bytes: Uint8Array, head: ReplyHead): boolean {
    if (!isMedia(head.header("content-type"), "text/event-stream")) return false;
    this.isStream = true;
    for (const data of this.events.push(bytes)) {
      this.#read(data);
      if (this.answer) return true;
    }
    return false;
  }

  judge(reply: GuardedReply | McpFailure): McpOutcome {
    if (!reply.ok) return reply;
    const { status, headers, truncated } = reply;
    const isJson = isMedia(headers.get("content-type"), "application/json");
    if (isJson && !truncated) this.#read(new TextDecoder().decode(reply.body), status);
    const header = (name: string) => headers.get(name);
    if (this.answer) return { ok: true, status, header, answer: this.answer };
    if (!isSuccess(status)) return refuseStatus(reply);
    const failure = { ok: false, sent: true, status } as const;
    if (truncated) {
      const message = `The server's reply is longer than ${REPLY_BYTES_MAX} bytes.`;
      return { ...failure, code: "too_long", message };
    }
    const message = `The server answered ${status}, but not to this request.`;
    return { ...failure, code: "no_answer", message };
  }

  #read(data: string, status = 200): void {
    const message = readMessage(data);
    if (message?.kind === "answer") {
      const { answer } = message;
      // A request that could not be read is refused without its id.
      const isOurs = answer.id === this.#id || (answer.id === null && status >= 400);
      if (isOurs) this.answer ??= answer;
    } else if (message) this.#onMessage?.(message);
  }
}

function refuseStatus({ status, headers }: GuardedReply): McpFailure {
  const isRedirect = status >= 300 && status < 400 && headers.has("location");
  const redirect = isRedirect ? "; redirects are not followed" : "";
  const message = `The server answered ${status}${redirect}.`;
  return { ok: false, code: "refused_status", sent: true, status, message };
}

function failLate(code: "timeout" | "aborted" = "timeout"): McpFailure {
  return {
    ok: false,
    code,
    sent: true,
    status: null,
    message: "The server did not answer in time.",
  };
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function isMedia(contentType: string | null, type: string): boolean {
  return readMediaType(contentType ?? "") === type;
}
