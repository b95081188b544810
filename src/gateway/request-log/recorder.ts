// The recorder of one request: gathers what becomes of it and makes its entry at the end.
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

/** Maximum believable usage: no model reads or writes so many tokens. */
const TOKENS_MAX = 1_000_000_000;
/** Maximum cost, a million SAR: more is an error in the settings, and sums must stay exact. */
const COST_MAX = 1e12;
/** Maximum announced length, so that sums stay exact. */
const BYTES_MAX = 1e12;

/** An internal request; the caller's rights are read at its start. */
export type InternalCaller = Omit<MeteredRequest, "started_at">;

export type PricedModel = Pick<ModelSettings, "id" | "price">;

export interface RecordedOk {
  ok: true;
  /** A search has none. */
  usage?: TokenUsage;
  usageEstimated?: true;
  reportedUsage?: TokenUsage;
}

type RecordedResult = (RecordedOk | UpstreamError) & CompletionStats;

export interface RecorderOptions {
  route: MeteredRoute;
  clock: Clock;
  drawId(): string;
  take(entry: LogEntry): void;
}

export class GatewayRecorder implements RequestRecorder {
  request_bytes = 0;
  is_stream = false;
  readonly started_at: number;
  readonly #options: RecorderOptions;
  readonly #request: MeteredRequest;
  readonly #at: number;
  #model: PricedModel | null = null;
  #result: RecordedResult | null = null;
  #firstTokenMs: number | null = null;
  #isClosed = false;

  constructor(options: RecorderOptions, request: MeteredRequest) {
    this.#options = options;
    this.#request = request;
    this.#at = options.clock.now();
    this.started_at = request.started_at;
  }

  setModel(model: PricedModel): void {
    this.#model = model;
  }

  markFirstChunk(): void {
    this.#firstTokenMs ??= this.#passed();
  }

  setResult(result: RecordedResult): void {
    this.#result = result;
  }

  close(status: number, code: string | null, reply_bytes: number): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { caller, request_id, trace } = this.#request;
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
      attempts: this.#result?.attempts ?? null,
      waited_ms: roundTime(this.#result?.waitedMs),
      first_token_ms: roundTime(this.#firstTokenMs),
      duration_ms: Math.round(this.#passed()),
      request_bytes: Math.min(this.request_bytes, BYTES_MAX),
      reply_bytes,
      trace_id: traceIdOf(trace) ?? null,
    });
  }

  #used() {
    const result = this.#result;
    const usage = result?.usage;
    if (!result || !usage || !isBelievable(usage)) return UNUSED;
    const { prompt_tokens, completion_tokens } = usage;
    // Estimated usage has no cost; the usage of a failed reply is an estimate.
    const usage_estimated = !result.ok || result.usageEstimated === true;
    const paid =
      result.ok && result.reportedUsage ? result.reportedUsage : usage_estimated ? null : usage;
    const cost = paid && costOf(paid, this.#model?.price ?? null);
    const isSane = cost !== null && cost <= COST_MAX;
    return { prompt_tokens, completion_tokens, usage_estimated, cost: isSane ? cost : null };
  }

  #passed(): number {
    return this.#options.clock.monotonic() - this.#request.started_at;
  }
}

/** The fields of an unknown usage; zeros would look like an answer that cost nothing. */
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
