// The program's log: lines for people on a terminal, else JSON lines.
import type { Clock } from "./clock.ts";

/** Names of all fields that a line may have: identifiers and figures, never contents or secrets. */
const TEXT_FIELDS = [
  "request_id",
  "trace_id",
  "route",
  "code",
  "key_id",
  // gateway.endpoints.chat_completions.user: a keyed hash of what the caller sent.
  "user",
  "model",
  "upstream",
  "service",
  "run_id",
  "trigger_id",
  "evaluation_id",
  "webhook_id",
  "tool",
  "call",
  "descriptors",
  "what",
  "reason",
  "written_at",
  "version",
] as const;
const NUMBER_FIELDS = [
  "status",
  "upstream_status",
  "runs",
  "connections",
  "duration_ms",
  "usual_ms",
  "retry_ms",
  "rows",
  "pid",
] as const;

export type LogFields = {
  [name in (typeof TEXT_FIELDS)[number]]?: string;
} & {
  [name in (typeof NUMBER_FIELDS)[number]]?: number;
} & {
  account_id?: string | null;
  /** A bug with our own stack, which holds no data of a caller. */
  error?: unknown;
};

export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

const ALLOWED = new Set<string>([...TEXT_FIELDS, ...NUMBER_FIELDS, "account_id", "error"]);

const VALUE_CHARACTERS_MAX = 4_096;

type LogValue = string | number | boolean | null;

export function createLog(clock: Clock, write: (line: string) => void, isForPeople: boolean): Log {
  const line = (level: string, message: string, fields: LogFields = {}) => {
    const kept = Object.entries(fields)
      .filter(([name, value]) => ALLOWED.has(name) && value !== undefined)
      .map(([name, value]) => [name, readValue(value)] as const);
    const time = new Date(clock.now()).toISOString();
    if (isForPeople) {
      const tail = kept.map(([name, value]) => ` ${name}=${writeForPeople(name, value)}`).join("");
      write(`${time.slice(11, 19)} ${level.padEnd(5)} ${message}${tail}\n`);
    } else {
      write(`${JSON.stringify({ time, level, message, ...Object.fromEntries(kept) })}\n`);
    }
  };
  return {
    info: (message, fields) => line("info", message, fields),
    warn: (message, fields) => line("warn", message, fields),
    error: (message, fields) => line("error", message, fields),
  };
}

function readValue(value: unknown): LogValue {
  if (value instanceof Error) return (value.stack ?? String(value)).slice(0, VALUE_CHARACTERS_MAX);
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  return String(value).slice(0, VALUE_CHARACTERS_MAX);
}

/** Quotes values with spaces, so that no value looks like another line. */
function writeForPeople(name: string, value: LogValue): string {
  const text = String(value);
  // Lines of a stack are indented: none begins like a line of the log.
  if (name === "error") return `\n  ${text.replaceAll(/[\r\n]+/g, "\n  ")}`;
  return /^[!-~]*$/.test(text) ? text : JSON.stringify(text);
}
