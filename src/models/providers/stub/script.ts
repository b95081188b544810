// The `!` lines with which a message scripts the stub model, and what is wrong with one.
import { parseDuration } from "../../../platform/duration.ts";
import type { ErrorCode } from "../../../platform/errors.ts";
import { parseObject } from "../../../platform/json.ts";
import { shorten } from "../../../platform/text.ts";

/**
 * One line's step. `cut` and `finish` act on the whole reply. `nousage` changes nothing visible:
 * missing usage is counted with the same tokenizer.
 */
export type ScriptStep =
  | { do: "say"; text: string }
  | { do: "fill"; tokens: number }
  | { do: "call"; name: string; arguments: string }
  | { do: "delay"; delayMs: number }
  | { do: "stall" }
  | { do: "fail"; code: ErrorCode; reason: string }
  | { do: "cut" }
  | { do: "finish"; reason: string }
  | { do: "nousage" }
  /** Later steps are for the next round, after the results of its tools. */
  | { do: "next" };

/** gateway.endpoints.chat_completions.6: maximum output budget. */
const TOKENS_MAX = 8_192;
/** Maximum delay, the same as in the settings. */
const DELAY_MAX_MS = 600_000;
const NAME = /^[A-Za-z0-9_.-]{1,128}$/;
const REASON = /^[a-z_]{1,64}$/;

export const SCRIPTED_CODES = [
  "invalid_request",
  "context_length_exceeded",
  "missing_api_key",
  "invalid_api_key",
  "permission_denied",
  "scope_required",
  "model_not_permitted",
  "not_found",
  "model_not_found",
  "request_too_large",
  "rate_limit_exceeded",
  "upstream_rate_limited",
  "capacity_exceeded",
  "internal_error",
  "upstream_error",
  "model_unavailable",
  "model_offline",
  "no_model_available",
  "service_unavailable",
  "upstream_timeout",
] as const satisfies readonly ErrorCode[];

interface Line {
  form: string;
  read(rest: string): ScriptStep | string;
}

const bare = (form: string, step: ScriptStep): Line => ({
  form,
  read: (rest) => (rest === "" ? step : `${form} takes nothing behind it.`),
});

const LINES: Record<string, Line> = {
  say: { form: "!say TEXT", read: (text) => ({ do: "say", text }) },
  tool: { form: "!tool NAME {json}", read: readCall },
  tokens: { form: "!tokens N", read: readTokens },
  delay: { form: "!delay 2s", read: readDelay },
  stall: bare("!stall", { do: "stall" }),
  cut: bare("!cut", { do: "cut" }),
  finish: {
    form: "!finish length",
    read: (reason) =>
      REASON.test(reason)
        ? { do: "finish", reason }
        : "A reason is a word such as stop, length, tool_calls or content_filter.",
  },
  error: { form: "!error CODE", read: readCode },
  garbage: bare("!garbage", { do: "fail", code: "upstream_error", reason: "it sent garbage" }),
  nousage: bare("!nousage", { do: "nousage" }),
  next: bare("!next", { do: "next" }),
};

/** Reads a message's `!` lines, or explains the first bad one; null without any. */
export function readScript(message: string): ScriptStep[] | null {
  const steps: ScriptStep[] = [];
  for (const line of message.split("\n")) {
    if (!line.startsWith("!")) continue;
    const step = readLine(line.trimEnd());
    if (typeof step === "string") return [{ do: "say", text: step }];
    steps.push(step);
  }
  return steps.length > 0 ? steps : null;
}

function readLine(line: string): ScriptStep | string {
  const [word = ""] = line.slice(1).split(/\s/, 1);
  const known = Object.hasOwn(LINES, word) ? LINES[word] : undefined;
  const step = known ? known.read(line.slice(1 + word.length).trim()) : "There is no such line.";
  if (typeof step !== "string") return step;
  const forms = Object.values(LINES).map(({ form }) => form);
  return `I cannot read "${shorten(line)}". ${step} The lines are: ${forms.join(" · ")}`;
}

function readCall(rest: string): ScriptStep | string {
  const [name = ""] = rest.split(/[\s{]/, 1);
  if (!NAME.test(name)) return "A tool's name is 1 to 128 of A-Z a-z 0-9 _ . -";
  const json = rest.slice(name.length).trim() || "{}";
  // Sent as written: deep nesting can be parsed, but not always written again.
  return parseObject(json)
    ? { do: "call", name, arguments: json }
    : `The arguments of ${name} are not a JSON object on the same line.`;
}

function readTokens(rest: string): ScriptStep | string {
  if (!/^[0-9]{1,9}$/.test(rest) || Number(rest) === 0) return "N is a whole number from 1.";
  return { do: "fill", tokens: Math.min(Number(rest), TOKENS_MAX) };
}

function readDelay(rest: string): ScriptStep | string {
  try {
    const delayMs = parseDuration(rest);
    if (delayMs <= DELAY_MAX_MS) return { do: "delay", delayMs };
  } catch {
    // Explained below like a delay that is too long.
  }
  return 'A delay is a duration of at most ten minutes, such as "500ms", "2s" or "1m".';
}

function readCode(rest: string): ScriptStep | string {
  const code = SCRIPTED_CODES.find((known) => known === rest);
  return code
    ? { do: "fail", code, reason: `it was told to fail with ${code}` }
    : `The codes are: ${SCRIPTED_CODES.join(", ")}.`;
}
