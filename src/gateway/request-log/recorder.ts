// The recorder of one request: gathers what becomes of it and makes its entry at the end.

import { cleanText } from "../../database/index.ts";
import type { MeteredRequest, RequestRecorder } from "../../http/index.ts";
import {
  type CompletionStats,
  costOf,
  type OutputCap,
  type TokenUsage,
  type UpstreamError,
} from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { type ApiError, ERROR_CODES } from "../../platform/errors.ts";
import { type Span, type Tracer, writeTrace } from "../../platform/spans.ts";
import { shorten } from "../../platform/text.ts";
import { type Trace, traceIdOf } from "../../platform/trace.ts";
import type { ModelSettings } from "../../settings/index.ts";
import type { LogEntry, MeteredRoute } from "./entry.ts";
import { describeRequest, type RequestContent } from "./span.ts";

/** Maximum believable usage: no model reads or writes so many tokens. */
const TOKENS_MAX = 1_000_000_000;
/** Maximum cost, a million SAR: more is an error in the settings, and sums must stay exact. */
const COST_MAX = 1e12;
/** Maximum announced length, so that sums stay exact. */
const BYTES_MAX = 1e12;
/** Maximum characters of a name that a caller, a server or the settings chose. */
const NAME_CHARACTERS_MAX = 128;
const REASON_CHARACTERS_MAX = 300;
/** In a millisecond. */
const MICROSECONDS = 1_000;

/** An internal request; the caller's rights are read at its start. */
export type InternalCaller = Omit<MeteredRequest, "started_at">;

export type PricedModel = Pick<ModelSettings, "id" | "price">;

export interface RecordedOk {
  ok: true;
  /** A search has none. */
  usage?: TokenUsage;
  finishReason?: string;
  usageEstimated?: true;
}

type RecordedResult = (RecordedOk | UpstreamError) & CompletionStats;

export interface RecorderOptions {
  route: MeteredRoute;
  clock: Clock;
  tracer?: Tracer | null;
  drawId(): string;
  /** `isAdmitted`: the rate limit has counted it. */
  take(entry: LogEntry, isAdmitted: boolean): void;
}

export class GatewayRecorder implements RequestRecorder {
  request_bytes = 0;
  isAdmitted = false;
  is_stream = false;
  /** The `model` that was sent. */
  asked_model: string | null = null;
  /** Scopes that the request needs. */
  scope: string | null;
  readonly started_at: number;
  /** The request's trace for what it calls: below its own span where that is recorded. */
  readonly trace: Trace | null;
  readonly #options: RecorderOptions;
  readonly #request: MeteredRequest;
  readonly #at: number;
  #model: PricedModel | null = null;
  #asked_max_tokens: number | null = null;
  #outputCap: OutputCap | null = null;
  #refusal: ApiError | null = null;
  #result: RecordedResult | null = null;
  #firstTokenMs: number | null = null;
  /** Monotonic times of the question to the model, and of its answer's end. */
  #askedAt: number | null = null;
  #answeredAt = 0;
  #isClosed = false;
  readonly #span: Pick<Span, "context" | "startedAt"> | null;
  #content: RequestContent | null = null;

  constructor(options: RecorderOptions, request: MeteredRequest) {
    this.#options = options;
    this.#request = request;
    this.#at = options.clock.now();
    this.started_at = request.started_at;
    // The other routes need the scope of their name.
    this.scope = options.route === "chat" ? null : options.route;
    const { tracer } = options;
    const context = tracer?.begin(request.trace);
    this.#span = context ? { context, startedAt: tracer!.now() } : null;
    this.trace = context ? writeTrace(context) : request.trace;
  }

  /** The texts of the request belong into its span. */
  get wantsContent(): boolean {
    return this.#span !== null && this.#options.tracer!.hasContent;
  }

  setContent(content: RequestContent): void {
    this.#content = content;
  }

  setModel(model: PricedModel): void {
    this.#model = model;
  }

  setOutputCap(asked: number | null, cap: OutputCap): void {
    this.#asked_max_tokens = asked && Math.min(asked, TOKENS_MAX);
    this.#outputCap = cap;
  }

  markFirstChunk(): void {
    this.#firstTokenMs ??= this.#passed();
  }

  /** The time from now to the result is the model's. */
  markAsked(): void {
    this.#askedAt = this.#options.clock.monotonic();
  }

  setResult(result: RecordedResult): void {
    this.#result = result;
    this.#answeredAt = this.#options.clock.monotonic();
  }

  explain(refusal: ApiError): void {
    this.#refusal = refusal;
  }

  close(status: number, code: string | null, reply_bytes: number): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { caller, request_id, run, operator = null } = this.#request;
    const result = this.#result;
    const passed = this.#passed();
    const entry: LogEntry = {
      id: this.#options.drawId(),
      request_id,
      at: this.#at,
      account_id: caller.account_id,
      key_id: caller.key_id,
      sent_by_operator: operator,
      route: this.#options.route,
      run_id: run?.id ?? null,
      agent_id: run?.agent_id ?? null,
      agent_version: run?.version ?? null,
      scope: this.scope,
      model_asked: cutName(this.asked_model),
      model: this.#model?.id ?? null,
      max_tokens_asked: this.#asked_max_tokens,
      max_tokens: this.#outputCap?.max_tokens ?? null,
      max_tokens_by: this.#outputCap?.by ?? null,
      attempts: result?.attempts ?? null,
      waited_ms: roundTime(result?.waitedMs),
      in_flight: result?.inFlight ?? null,
      in_flight_max: result?.inFlightMax ?? null,
      replica: cutName(result?.replica ?? null),
      upstream_status: result?.ok === false ? (result.upstreamStatus ?? null) : null,
      is_stream: this.is_stream,
      first_token_ms: roundTime(this.#firstTokenMs),
      duration_ms: Math.round(passed),
      gateway_us: this.#countOwn(passed),
      status,
      code,
      param: cutName(this.#refusal?.details.param ?? null),
      reason: code === null ? null : this.#findReason(),
      finish_reason: result?.ok ? cutName(result.finishReason ?? null) : null,
      ...this.#findUsage(),
      request_bytes: Math.min(this.request_bytes, BYTES_MAX),
      reply_bytes,
      trace_id: traceIdOf(this.trace) ?? null,
    };
    this.#options.take(entry, this.isAdmitted);
    if (this.#span) this.#recordSpan(entry, this.#span);
  }

  #recordSpan(entry: LogEntry, span: Pick<Span, "context" | "startedAt">): void {
    const tracer = this.#options.tracer!;
    const endedAt = tracer.now();
    tracer.record({ ...span, endedAt, ...describeRequest(entry, this.#content) });
  }

  /** Prefers the server's failure to the refusal's sentence, unless that has counted the tokens. */
  #findReason(): string | null {
    const refusal = this.#refusal;
    const result = this.#result;
    const isOurs = refusal?.code === "context_length_exceeded" || !result || result.ok;
    const reason = isOurs ? refusal && findSentence(refusal) : result.reason;
    return reason === null ? null : cleanText(shorten(reason, REASON_CHARACTERS_MAX));
  }

  #findUsage() {
    const result = this.#result;
    const usage = result?.usage;
    if (!result || !usage || !isBelievable(usage)) return UNUSED;
    const { prompt_tokens, completion_tokens } = usage;
    // The usage of a failed reply is an estimate. Leaving early is not free.
    const usage_estimated = !result.ok || result.usageEstimated === true;
    const cost = costOf(usage, this.#model?.price ?? null);
    const isSane = cost !== null && cost <= COST_MAX;
    return { prompt_tokens, completion_tokens, usage_estimated, cost: isSane ? cost : null };
  }

  #countOwn(passedMs: number): number | null {
    if (this.#askedAt === null || !this.#result) return null;
    const ownMs = passedMs - (this.#answeredAt - this.#askedAt);
    return Math.max(0, Math.round(ownMs * MICROSECONDS));
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

/** Returns what a refusal says beyond its code; null: nothing. */
function findSentence({ code, message, details: { recorded = message } }: ApiError) {
  return recorded === ERROR_CODES[code].message ? null : recorded;
}

function cutName(name: string | null): string | null {
  return name === null ? null : cleanText(shorten(name, NAME_CHARACTERS_MAX));
}

function isBelievable({ prompt_tokens, completion_tokens }: TokenUsage): boolean {
  return prompt_tokens <= TOKENS_MAX && completion_tokens <= TOKENS_MAX;
}

function roundTime(time_ms: number | null | undefined): number | null {
  return time_ms === null || time_ms === undefined ? null : Math.round(time_ms);
}
