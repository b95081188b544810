// Format of a recording: a head line, then a line for each answered request.
import { type Static, type TLiteral, Type } from "@sinclair/typebox";
import {
  type Completion,
  type ModelRequest,
  UPSTREAM_CODES,
  type UpstreamCode,
} from "../providers/contract.ts";

/** Version of the format; it changes when older programs would misread a new one. */
export const VERSION = 1;
/** Maximum size, since a replay holds all replies in memory. */
export const FILE_BYTES_MAX = 256 * 1024 * 1024;
/** Maximum time of a reply; timers take no more than 24 days. */
const DAY_MS = 86_400_000;

/** A recording that cannot be made or replayed; the message quotes nothing of it. */
export class RecordingProblem extends Error {
  override name = "RecordingProblem";
}

export const Head = Type.Object({ wadi_recording: Type.Number(), recorded_at: Type.String() });

/** Milliseconds since the request. */
const Time = Type.Number({ minimum: 0, maximum: DAY_MS });
const Count = Type.Integer({ minimum: 0 });
const Usage = Type.Object({
  prompt_tokens: Count,
  completion_tokens: Count,
  total_tokens: Count,
});
const Journey = { attempts: Type.Optional(Count), waited_ms: Type.Optional(Time) };

const Told = Type.Object({
  at_ms: Time,
  piece: Type.Union([
    Type.Object({ kind: Type.Literal("text"), text: Type.String() }),
    Type.Object({
      kind: Type.Literal("call"),
      index: Count,
      id: Type.Optional(Type.String()),
      name: Type.Optional(Type.String()),
      arguments: Type.String(),
    }),
  ]),
});

/** Checked like a server's reply, since it goes on to logs and the request log. */
export const RecordedReply = Type.Object({
  model: Type.String({ pattern: "^[A-Za-z0-9][\\w./:@+-]{0,127}$" }),
  key: Type.String({ pattern: "^[0-9a-f]{64}$" }),
  /** For people; replays go by the key. */
  ask: Type.Object({}),
  told: Type.Array(Told),
  ended_ms: Time,
  ending: Type.Union([
    Type.Object({
      ok: Type.Literal(true),
      finish_reason: Type.String({ pattern: "^\\w{1,64}$" }),
      usage: Usage,
      stop_sequence: Type.Optional(Type.String({ maxLength: 256 })),
      usage_estimated: Type.Optional(Type.Literal(true)),
      ...Journey,
    }),
    Type.Object({
      ok: Type.Literal(false),
      code: Type.Union(
        UPSTREAM_CODES.map((code) => Type.Literal(code)) as [TLiteral<UpstreamCode>],
      ),
      elsewhere: Type.Boolean(),
      why: Type.String({ pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]{0,500}$" }),
      upstream_status: Type.Optional(Count),
      prompt_tokens: Type.Optional(Count),
      usage: Type.Optional(Usage),
      ...Journey,
    }),
  ]),
});

export type RecordedReply = Static<typeof RecordedReply>;

/** Names of a completion's fields in a recording, where they differ from today's. */
const FILE_NAMES: Readonly<Record<string, string>> = {
  finishReason: "finish_reason",
  stopSequence: "stop_sequence",
  usageEstimated: "usage_estimated",
  retryable: "elsewhere",
  reason: "why",
  noResponse: "silent",
  upstreamStatus: "upstream_status",
  retryAfterMs: "retry_after_ms",
  promptTokens: "prompt_tokens",
  waitedMs: "waited_ms",
};
/** A recording tells nothing of the servers that answered. */
const OF_ONE_SERVER: readonly string[] = ["replica"] satisfies (keyof Completion)[];
const OUR_NAMES = Object.fromEntries(
  Object.entries(FILE_NAMES).map(([ours, file]) => [file, ours]),
);

export function writeCompletion(completion: Completion): RecordedReply["ending"] {
  return renameFields(completion, FILE_NAMES) as RecordedReply["ending"];
}

export function readCompletion(recorded: RecordedReply["ending"]): Completion {
  return renameFields(recorded, OUR_NAMES) as unknown as Completion;
}

function renameFields(from: object, names: Readonly<Record<string, string>>): object {
  const fields = Object.entries(from).filter(([name]) => !OF_ONE_SERVER.includes(name));
  return Object.fromEntries(fields.map(([name, value]) => [names[name] ?? name, value]));
}

const OF_ONE_REQUEST: readonly string[] = [
  "request_id",
  "account",
  "trace",
] satisfies (keyof ModelRequest)[];

export function strip(request: ModelRequest): object {
  return Object.fromEntries(
    Object.entries(request).filter(([name]) => !OF_ONE_REQUEST.includes(name)),
  );
}

/**
 * Hashes a request independent of the order of its fields. Null and absent fields count alike, so
 * that new fields don't invalidate recordings.
 */
export function hashRequest(request: ModelRequest): string {
  const fields = Object.entries(strip(request)).filter(([, value]) => value !== null);
  return Bun.SHA256.hash(writeSorted(Object.fromEntries(fields)), "hex") as string;
}

function writeSorted(value: unknown): string {
  return JSON.stringify(value, (_, inner) => {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    const names = Object.keys(inner).sort();
    return Object.fromEntries(names.map((name) => [name, inner[name]]));
  });
}
