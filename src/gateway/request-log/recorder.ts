// One request under way: gathers what becomes of it, and makes the entry when it has ended.
import type { MeteredRequest, RequestRecorder } from "../../http/index.ts";
import {
  type CompletionStats,
  costOf,
  type TokenUsage,
  type UpstreamError,
} from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { traceIdOf } from "../../platform/trace.ts";
import type { ModelSettings } from "../../settings/index.ts";
import type { LogEntry, MeteredRoute } from "./entry.ts";

/** No model reads or writes so many: a server that says so is not believed. */
const TOKENS_MAX = 1_000_000_000;
/** A million SAR: whatever costs more is a slip in the settings, and sums must stay exact. */
const COST_MAX = 1e12;
/** An announced length may be any number; sums of them stay exact. */
const BYTES_MAX = 1e12;

/** What answers, and what its tokens cost; null: nobody knows. */
export type PricedModel = Pick<ModelSettings, "id" | "price">;

/** What went well, as far as its entry tells of it. */
export interface RecordedOk {
  ok: true;
  /** Left out: nothing is counted, as of a search. */
  usage?: TokenUsage;
  usageEstimated?: true;
  /** The part of the usage that servers told. */
  reportedUsage?: TokenUsage;
}

type Ending = (RecordedOk | UpstreamError) & CompletionStats;

export interface RecorderOptions {
  route: MeteredRoute;
  clock: Clock;
  drawId(): string;
  /** Takes the one entry. */
  take(entry: LogEntry): void;
}

export class GatewayRecorder implements RequestRecorder {
  request_bytes = 0;
  is_stream = false;
  readonly started_at: number;
  readonly #options: RecorderOptions;
  readonly #arrival: MeteredRequest;
  readonly #at: number;
  #model: PricedModel | null = null;
  #ending: Ending | null = null;
  #first_token_ms: number | null = null;
  #isClosed = false;

  constructor(options: RecorderOptions, arrival: MeteredRequest) {
    this.#options = options;
    this.#arrival = arrival;
    this.#at = options.clock.now();
    this.started_at = arrival.started_at;
  }

  /** Who answers, at the price of this moment. */
  setModel(model: PricedModel): void {
    this.#model = model;
  }

  /** A piece has come; all but the first are nothing new. */
  markFirstChunk(): void {
    this.#first_token_ms ??= this.#passed();
  }

  /** How the model's answer, or other work, ended, before its caller is told. */
  setResult(ending: Ending): void {
    this.#ending = ending;
  }

  close(status: number, code: string | null, reply_bytes: number): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { caller, request_id, trace } = this.#arrival;
    const { prompt_tokens, completion_tokens, usage_estimated, cost } = this.#used();
    this.#options.take({
      id: this.#options.drawId(),
      request_id,
      at: this.#at,
      account_id: caller.account_id,
      key_id: caller.key_id,
      route: this.#options.route,
      model: this.#model?.id ?? null,
      status,
      code,
      is_stream: this.is_stream,
      prompt_tokens,
      completion_tokens,
      usage_estimated,
      cost,
      attempts: this.#ending?.attempts ?? null,
      waited_ms: roundTime(this.#ending?.waitedMs),
      first_token_ms: roundTime(this.#first_token_ms),
      duration_ms: Math.round(this.#passed()),
      request_bytes: Math.min(this.request_bytes, BYTES_MAX),
      reply_bytes,
      trace_id: traceIdOf(trace) ?? null,
    });
  }

  #used() {
    const ending = this.#ending;
    const usage = ending?.usage;
    if (!ending || !usage || !isBelievable(usage)) return UNUSED;
    const { prompt_tokens, completion_tokens } = usage;
    // Nobody pays by an estimate, and what a broken answer had made is one.
    const usage_estimated = !ending.ok || ending.usageEstimated === true;
    const paid =
      ending.ok && ending.reportedUsage ? ending.reportedUsage : usage_estimated ? null : usage;
    const cost = paid && costOf(paid, this.#model?.price ?? null);
    const isSane = cost !== null && cost <= COST_MAX;
    return { prompt_tokens, completion_tokens, usage_estimated, cost: isSane ? cost : null };
  }

  #passed(): number {
    return this.#options.clock.monotonic() - this.#arrival.started_at;
  }
}

/** Where nothing is known to have been made; zeros would look like an answer that cost nothing. */
const UNUSED = {
  prompt_tokens: null,
  completion_tokens: null,
  usage_estimated: false,
  cost: null,
} as const;

function isBelievable({ prompt_tokens, completion_tokens }: TokenUsage): boolean {
  return prompt_tokens <= TOKENS_MAX && completion_tokens <= TOKENS_MAX;
}

function roundTime(time_ms: number | null | undefined): number | null {
  return time_ms === null || time_ms === undefined ? null : Math.round(time_ms);
}
