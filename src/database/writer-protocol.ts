// Messages between the main thread and the writer Worker.
import { ApiError, type ErrorCode, type ErrorDetails } from "../platform/errors.ts";
import type { WriteOutcome } from "./group-commit.ts";
import type { PageCheckResult } from "./page-checks.ts";
import type { WriteCall } from "./registry.ts";
import type { Notification } from "./store.ts";

/** A value, or its JSON: one text costs less to send than a structured clone. */
type Packed<T extends object> = string | T;

export type ToWriter =
  | { open: string }
  | { check: string }
  | { calls: Packed<WriteCall[]> }
  | { close: true };

export type FromWriter =
  | { committed: Packed<{ replies: WriteReply[]; notifications: Notification[] }> }
  | { foreign: true }
  | { lost: string }
  | PageCheckResult
  | { closed: true };

/** A result as it crosses the Worker: an Error would lose its fields. */
export type WriteReply =
  | { value?: unknown }
  | { refusal: { code: ErrorCode; details: ErrorDetails } }
  | { bug: { message: string; stack?: string; code?: string } };

export function writeReply(outcome: WriteOutcome): WriteReply {
  // JSON has no undefined.
  if (outcome.ok) return outcome.value === undefined ? {} : { value: outcome.value };
  const { failure } = outcome;
  if (failure instanceof ApiError)
    return { refusal: { code: failure.code, details: failure.details } };
  const { message, stack, code } = failure as Error & { code?: string };
  return { bug: { message, stack, code } };
}

export function readReply(reply: WriteReply): unknown {
  if ("refusal" in reply) throw new ApiError(reply.refusal.code, reply.refusal.details);
  if (!("bug" in reply)) return reply.value;
  const { message, stack, code } = reply.bug;
  throw Object.assign(new Error(message), { stack: stack ?? message, code });
}

/** Maximum length of a text in JSON; longer ones are faster to copy. */
const TEXT_CHARACTERS_MAX = 65_536;
const DEPTH_MAX = 32;

/** Leaves what JSON would change, such as NaN and undefined, to the structured clone. */
export function pack<T extends object>(value: T): Packed<T> {
  return isJson(value, 0) ? JSON.stringify(value) : value;
}

export function unpack<T extends object>(packed: Packed<T>): T {
  return typeof packed === "string" ? JSON.parse(packed) : packed;
}

function isJson(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case "string":
      return value.length <= TEXT_CHARACTERS_MAX;
    case "boolean":
      return true;
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0);
    case "object":
      return value === null || (depth < DEPTH_MAX && hasOnlyJson(value, depth + 1));
    default:
      return false;
  }
}

function hasOnlyJson(value: object, depth: number): boolean {
  if (Array.isArray(value)) {
    // `every` would skip holes.
    for (let at = 0; at < value.length; at++) if (!isJson(value[at], depth)) return false;
    return true;
  }
  // Dates, maps, bytes and errors are not JSON.
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  for (const name in value) {
    if (!isJson((value as Record<string, unknown>)[name], depth)) return false;
  }
  return true;
}
