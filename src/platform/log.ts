// The program's log: lines for people on a terminal, JSON lines otherwise, from a list of allowed
// fields.
import type { Clock } from "./clock.ts";

/**
 * All that a line may carry: identifiers and figures, never prompts, outputs, headers or secrets.
 */
export interface LogFields {
  request_id?: string;
  /** Of the caller's `traceparent`. */
  trace_id?: string;
  route?: string;
  status?: number;
  code?: string;
  account_id?: string | null;
  key_id?: string;
  /** gateway.endpoints.chat_completions.user: a keyed hash of what the caller sent as `user`. */
  user?: string;
  model?: string;
  upstream?: string;
  upstream_status?: number;
  service?: string;
  run_id?: string;
  trigger_id?: string;
  webhook_id?: string;
  tool?: string;
  /** A tool call's id, or a round of a model. */
  call?: string;
  /** A count of runs. */
  runs?: number;
  /** A count of connections. */
  connections?: number;
  /** How many files are open, of how many that may be. */
  descriptors?: string;
  duration_ms?: number;
  /** Of a sweep: which kind of rows, and how many. */
  what?: string;
  rows?: number;
  /** When something was written last. */
  written_at?: string;
  /** Of bugs only: our own stack, no data of a caller's. */
  error?: unknown;
}

export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

const ALLOWED = new Set<string>([
  "request_id",
  "trace_id",
  "route",
  "status",
  "code",
  "account_id",
  "key_id",
  "user",
  "model",
  "upstream",
  "upstream_status",
  "service",
  "run_id",
  "trigger_id",
  "webhook_id",
  "tool",
  "call",
  "runs",
  "connections",
  "descriptors",
  "duration_ms",
  "what",
  "rows",
  "written_at",
  "error",
] satisfies (keyof LogFields)[]);

const VALUE_CHARACTERS_MAX = 4_096;

function writeValue(value: unknown): string | number | boolean | null {
  if (value instanceof Error) return (value.stack ?? String(value)).slice(0, VALUE_CHARACTERS_MAX);
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  return String(value).slice(0, VALUE_CHARACTERS_MAX);
}

/** A word as it is; what has spaces in quotes, so that no value can look like another line. */
function writeForPeople(name: string, value: string | number | boolean | null): string {
  const text = String(value);
  // A stack is read line by line; indented, none of them begins like a line of the log.
  if (name === "error") return `\n  ${text.replaceAll(/[\r\n]+/g, "\n  ")}`;
  return /^[!-~]*$/.test(text) ? text : JSON.stringify(text);
}

/** A log that writes whole lines through `write`; `people` chooses their form. */
export function createLog(clock: Clock, write: (line: string) => void, people: boolean): Log {
  const line = (level: string, message: string, fields: LogFields = {}) => {
    const kept = Object.entries(fields)
      .filter(([name, value]) => ALLOWED.has(name) && value !== undefined)
      .map(([name, value]) => [name, writeValue(value)] as const);
    const time = new Date(clock.now()).toISOString();
    if (people) {
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
