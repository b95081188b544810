// An entry of the request log: one row for each request of a known key, and what decided it.
import { type Static, Type } from "@sinclair/typebox";
import type { OutputCap } from "../../models/index.ts";
import { columnsOf, Money, maybe, oneOf, Resource, Timestamp } from "../../platform/schema.ts";

const text = (description: string) => Type.String({ description });
const count = (description: string) => Type.Integer({ description, minimum: 0 });

const METERED_ROUTES = ["chat", "embeddings", "search"] as const;
export type MeteredRoute = (typeof METERED_ROUTES)[number];

const CAP_SOURCES = ["request", "default", "model", "key", "service"] as const;

export const LogEntry = Resource("LogEntry", {
  id: text("Identifier of the row. Ids are in the order in which requests ended."),
  request_id: text("`x-request-id` of the reply. A caller may send the same one again."),
  at: Timestamp("When it arrived."),
  account_id: maybe(text("Owner of the key; null: a key without an owner.")),
  key_id: text("Key that it was sent with."),
  sent_by_operator: maybe(
    text("Operator who sent it as the key, from the playground; null: its caller did."),
  ),
  route: oneOf(METERED_ROUTES, "Route, or that of an internal request of a run."),
  run_id: maybe(text("Run whose round or call it was; null: a request over HTTP.")),
  agent_id: maybe(text("Agent of the run; null: none.")),
  agent_version: maybe(count("Version of that agent; null: none.")),
  scope: maybe(text("Scopes that it needs, parted by a space; null: none.")),
  model_asked: maybe(text("First 128 characters of the `model` sent; null: none.")),
  model: maybe(text("Model that served it, or would have; null: refused before it was known.")),
  max_tokens_asked: maybe(count("Output tokens asked for; null: none, or refused before.")),
  max_tokens: maybe(count("Output tokens allowed; null: refused before they were decided.")),
  max_tokens_by: maybe(
    oneOf<OutputCap["by"]>(
      CAP_SOURCES,
      "What set `max_tokens`: the request, a default, or the lowest cap.",
    ),
  ),
  attempts: maybe(count("Requests sent to model servers; null: none, or the built-in stub.")),
  waited_ms: maybe(count("Milliseconds that it waited for a place or a server's start.")),
  in_flight: maybe(
    count(
      "Requests in work where it got its place, itself included: at its server, or of embeddings " +
        "or search; null: it got none, or from the built-in stub.",
    ),
  ),
  in_flight_max: maybe(count("Places that there were then; null: no limit, or none was got.")),
  replica: maybe(text("Host and port of the server that was asked last; null: none was.")),
  upstream_status: maybe(count("HTTP status of the server that failed; null: it sent none.")),
  is_stream: Type.Boolean({ description: "true: the caller asked for a stream." }),
  first_token_ms: maybe(
    count("Milliseconds until a stream's first chunk; null: no stream, or none was sent."),
  ),
  duration_ms: count("Milliseconds until the end of its reply."),
  gateway_us: maybe(
    count(
      "Microseconds of the gateway's own, before it asked for an answer and after it had it; " +
        "null: it asked for none.",
    ),
  ),
  status: Type.Integer({ description: "HTTP status sent; 499: the caller had left." }),
  code: maybe(text("Error code that the caller got, also inside a stream; null: success.")),
  param: maybe(text("Field at fault.")),
  reason: maybe(text("What the error code does not tell. Never holds what the caller sent.")),
  finish_reason: maybe(text("Why the model ended: `stop`, `length`, `tool_calls` or another.")),
  prompt_tokens: maybe(count("Tokens read; null: unknown or none.")),
  completion_tokens: maybe(count("Tokens written; null: unknown or none.")),
  usage_estimated: Type.Boolean({ description: "true: the tokens are an estimate." }),
  cost: maybe(
    Money(
      "Cost of the reported usage, in `service.currency` at the price of its time; null: unknown.",
    ),
  ),
  request_bytes: count("Bytes of its body."),
  reply_bytes: count("Bytes of the reply's body that were handed to the socket."),
  trace_id: maybe(text("Trace id of its `traceparent`.")),
});
export type LogEntry = Static<typeof LogEntry>;

const COLUMNS = columnsOf(LogEntry).map(({ name }) => name as keyof LogEntry);

export type LogEntryValues = (string | number | boolean | null)[];

/** Writes entries as one text: it crosses to the Worker at a third of the cost of objects. */
export function writeEntries(entries: readonly LogEntry[]): string {
  return JSON.stringify(entries.map((entry) => COLUMNS.map((name) => entry[name])));
}

export function readEntries(text: string): LogEntryValues[] {
  return JSON.parse(text);
}

export function nameValues(values: LogEntryValues): LogEntry {
  const entry: Record<string, LogEntryValues[number]> = {};
  for (let at = 0; at < COLUMNS.length; at++) entry[COLUMNS[at]!] = values[at]!;
  return entry as LogEntry;
}
