// What one request of the gateway came to: a row of the ledger.
import { type Static, Type } from "@sinclair/typebox";
import { columnsOf, Money, maybe, Timestamp } from "../../platform/schema.ts";

/** Every metered request has one, whatever became of it. */
export const LogEntry = Type.Object({
  /** Ordered by when requests ended; a write that is run again meets its rows by it. */
  id: Type.String(),
  /** The caller's, or ours. */
  request_id: Type.String(),
  at: Timestamp("When it arrived."),
  account_id: maybe(Type.String()),
  key_id: Type.String(),
  route: Type.Unsafe<MeteredRoute>({ type: "string" }),
  /** null: it was refused before its model was known. */
  model: maybe(Type.String()),
  /** As it was sent; 499 where the caller had left. */
  status: Type.Integer(),
  /** What the caller was told, inside a stream too; null: all went well. */
  code: maybe(Type.String()),
  is_stream: Type.Boolean(),
  /** null: nothing had been made, or nobody knows what. */
  prompt_tokens: maybe(Type.Integer()),
  completion_tokens: maybe(Type.Integer()),
  usage_estimated: Type.Boolean(),
  /**
   * By the price in force when it was admitted, for what servers told; null: unknown, or all of the
   * usage is an estimate.
   */
  cost: maybe(Money("SAR.")),
  /** Requests to model servers. */
  attempts: maybe(Type.Integer()),
  waited_ms: maybe(Type.Integer()),
  /** Of streams: until the first piece was there. */
  first_token_ms: maybe(Type.Integer()),
  duration_ms: Type.Integer(),
  request_bytes: Type.Integer(),
  /** Handed to the socket, without the head. */
  reply_bytes: Type.Integer(),
  trace_id: maybe(Type.String()),
});
export type LogEntry = Static<typeof LogEntry>;

/** What was asked for. */
export type MeteredRoute = "chat" | "embeddings" | "search";

const COLUMNS = columnsOf(LogEntry).map(({ name }) => name as keyof LogEntry);

/** An entry as the values of its columns: as text half as long as with their names. */
export type LogEntryValues = (string | number | boolean | null)[];

/** Entries as one text, which crosses to the Worker at a third of the price of its objects. */
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
