// Questions to models from inside the program: the pipeline of POST /v1/chat/completions behind its
// validation, with the same rights, the same row of the ledger and the same line of the log.
import type { Caller } from "../../access/index.ts";
import type { Meter } from "../../http/index.ts";
import type {
  CountTexts,
  Failure,
  Journey,
  Message,
  ModelRegistry,
  Named,
  ServedModel,
  Tool,
  ToolCall,
  Usage,
} from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import { type Code, Refusal, refuse, shownCode } from "../../platform/refusal.ts";
import type { ModelSettings } from "../../platform/settings/index.ts";
import type { InsideCaller } from "../inside.ts";
import type { RequestTally } from "../ledger/tally.ts";
import { isStopped, type Running, STOPPED, untilStop } from "../running.ts";
import { conductAnswer } from "./answer.ts";
import { writeAsk } from "./ask.ts";
import { refuseFailure } from "./failure.ts";
import { nameAsk, noteFailure } from "./noting.ts";
import { refuseJudged, refuseMode } from "./permit.ts";
import { createMessageCollector, STATUS } from "./reply.ts";
import type { Thinking } from "./think/think.ts";

/** One question to a model. */
export interface RoundAsk {
  /** An id, or the alias of the default model. */
  model: string;
  messages: Message[];
  tools: Tool[];
  temperature: number | null;
  top_p: number | null;
  /** null: the model's default; whatever it is, it is capped as a caller's would be. */
  max_tokens: number | null;
  reasoning: boolean;
}

export interface RoundAnswer {
  ok: true;
  /** The id of the model that answered. */
  model: string;
  /** null: there are only tool calls. */
  content: string | null;
  tool_calls: ToolCall[];
  finish_reason: string;
  usage: Usage;
  /** true: its server told no usage, or not all of it; nobody pays by it. */
  usage_estimated: boolean;
  /** Whole milliseconds, with what it waited for a place or a start. */
  duration_ms: number;
}

export interface RoundFailure {
  ok: false;
  /** As a caller of the gateway would be shown it. */
  code: Code;
  /** What the caller would be told: our own sentence. */
  why: string;
  /** When its server would take requests again: so long from now on. */
  retry_after_ms?: number;
  /** What had been made until then, always an estimate. */
  usage?: Usage;
  /** Of `context_length_exceeded`: how long the messages are, where that was counted. */
  prompt_tokens?: number;
  /** The program stops, and nothing else went wrong: whoever comes back may ask again. */
  is_stopped?: true;
}

export type RoundReply = RoundAnswer | RoundFailure;

export interface ChatInside {
  /**
   * What a model's name means, and whether this caller may call it now. Unlike a request an unknown
   * id finds nobody, whatever the date. A model that is stopped is a refusal too.
   */
  judge(name: string, caller: Caller): Promise<{ model: ServedModel } | { refusal: Refusal }>;
  /** Judges again, asks, and ends; what fails outside, or is refused, is a value. */
  ask(who: InsideCaller, ask: RoundAsk, signal: AbortSignal): Promise<RoundReply>;
  /** The model that a name means now, as the settings say; undefined: nobody has it. */
  find(name: string): ModelSettings | undefined;
}

export interface ChatInsideOptions {
  registry: ModelRegistry;
  countTexts: CountTexts;
  meter: Meter<RequestTally>;
  running: Running;
  clock: Clock;
  log: Log;
  /** Asked for each question that needs it: a reload may change it. */
  thinking(): Thinking;
}

export function createChatInside(options: ChatInsideOptions): ChatInside {
  const { registry, countTexts, meter, running, clock, log, thinking } = options;

  const judge = async (named: Named, caller: Caller): Promise<Refusal | undefined> => {
    if (named.by === "unknown") return refuse("model_not_found");
    try {
      const refusal = refuseJudged(await registry.judge(named.model, caller), named.by);
      // A scope is no matter of the model's name: without it the key may not call this one.
      return refusal?.code === "scope_required" ? refuse("model_not_permitted") : refusal;
    } catch (error) {
      log.error("the state of a model could not be read", { error });
      return refuse("no_model_available");
    }
  };

  const answer = async (
    who: InsideCaller,
    round: RoundAsk,
    signal: AbortSignal,
    tally: RequestTally,
  ): Promise<RoundReply> => {
    const { caller } = who;
    const { model, by } = registry.name(round.model);
    if (by !== "unknown") tally.name(model.settings);
    const refusal = await judge({ model, by }, caller);
    if (refusal) throw refusal;
    refuseMode(round, model, caller);
    const ask = writeAsk(round, model, who);
    // Beside tools nobody can think: attempts that call them would call them several times.
    const thinks = model.settings.think === "required" && round.tools.length === 0;
    const conducted = conductAnswer(model, countTexts, thinks ? thinking() : null);
    const collector = createMessageCollector();
    const asked_at = clock.monotonic();
    const ending = await untilStop(running, conducted(ask, collector.ear, signal), STOPPED);
    tally.end(ending);
    if (!ending.ok) {
      const admitted = { ask, caller, model, by };
      noteFailure(log, ending, admitted, undefined);
      return writeFailure(refuseFailure(ending, admitted), ending);
    }
    const { content, tool_calls = [] } = collector.write();
    return {
      ok: true,
      model: model.settings.id,
      content,
      tool_calls,
      finish_reason: ending.finish_reason,
      usage: ending.usage,
      usage_estimated: ending.usage_estimated === true,
      duration_ms: Math.round(clock.monotonic() - asked_at),
    };
  };

  return {
    find(name) {
      const { model, by } = registry.name(name);
      return by === "unknown" ? undefined : model.settings;
    },
    async judge(name, caller) {
      const named = registry.name(name);
      const refusal = await judge(named, caller);
      if (!refusal) return { model: named.model };
      return { refusal: refuse(refusal.code, { param: "model" }) };
    },
    async ask(who, round, signal) {
      const tally = meter.open({ ...who, started_at: clock.monotonic() });
      try {
        const reply = await answer(who, round, signal, tally);
        if (reply.ok) tally.close(STATUS, null, 0);
        else tally.close(refuse(reply.code).status, reply.code, 0);
        return reply;
      } catch (failure) {
        // What the key may not, and what only a scripted model refuses with.
        if (failure instanceof Refusal) {
          const reply = writeFailure(failure, undefined);
          tally.close(failure.status, reply.code, 0);
          return reply;
        }
        log.error("a question from inside failed", { ...nameAsk(who), error: failure });
        tally.close(refuse("internal_error").status, "internal_error", 0);
        throw failure;
      }
    },
  };
}

/** `ending`: undefined where it was refused. */
function writeFailure(refusal: Refusal, ending: (Failure & Journey) | undefined): RoundFailure {
  const code = shownCode(refusal.code, "gateway") as Code;
  const failure: RoundFailure = { ok: false, code, why: refusal.message };
  if (!ending) return failure;
  const { retry_after_ms, usage, prompt_tokens } = ending;
  if (retry_after_ms !== undefined) failure.retry_after_ms = retry_after_ms;
  if (usage !== undefined) failure.usage = usage;
  if (prompt_tokens !== undefined) failure.prompt_tokens = prompt_tokens;
  if (isStopped(ending)) failure.is_stopped = true;
  return failure;
}
