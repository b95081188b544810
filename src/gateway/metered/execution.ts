// One execution of a request for embeddings or search, for the HTTP route and internal callers.
import type { MeteredRequest } from "../../http/index.ts";
import type { CompletionStats, UpstreamError } from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { ApiError, apiError, ERROR_CODES, type ErrorCode } from "../../platform/errors.ts";
import type { Log } from "../../platform/log.ts";
import { traceIdOf } from "../../platform/trace.ts";
import type { CallerBudgets, NeededAmounts } from "../budgets/caller-budgets.ts";
import { isUnasked } from "../budgets/unasked.ts";
import { type InFlight, STOPPED, untilStop } from "../in-flight.ts";
import type { GatewayRecorder, RecordedOk } from "../request-log/recorder.ts";
import { writeServerTiming } from "../server-timing.ts";
import type { MeteredBackend, MeteredPlan, MeteredService } from "./service.ts";

export interface MeteredContext<B> extends Omit<MeteredRequest, "started_at"> {
  recorder: GatewayRecorder;
  signal: AbortSignal;
  charge: Charge<B>;
}

/** Maximum tokens of a request for budgets, and their cost; null: the price is unknown. */
export interface Charge<B> {
  countTokens(backend: B): number;
  costOf(tokens: number): number | null;
}

export type WriteHeaders = (
  code: ErrorCode,
  retryAfterMs: number | undefined,
) => Readonly<Record<string, string>>;

export interface MeteredExecutionOptions<P extends MeteredPlan, B extends MeteredBackend> {
  service: MeteredService<P, B>;
  budgets: Pick<CallerBudgets, "check" | "reserve" | "writeHeaders">;
  running: InFlight;
  clock: Clock;
  log: Log;
  /** For the log: `POST /v1/embeddings`. */
  route: string;
  backendName: string;
  writeHeaders: WriteHeaders;
}

type MeteredResult<R> = (R | UpstreamError) & CompletionStats;
type MeteredWork<B, R> = (backend: B) => Promise<MeteredResult<R>>;

/** gateway.errors.service_unavailable: the work was stopped before any result. */
const STOPPED_BEFORE: UpstreamError = { ...STOPPED, code: "model_offline" };
/** gateway.errors.client_closed_request: the status is only logged. */
const LEFT = "client_closed_request";

export class MeteredExecution<P extends MeteredPlan, B extends MeteredBackend> {
  readonly #options: MeteredExecutionOptions<P, B>;

  constructor(options: MeteredExecutionOptions<P, B>) {
    this.#options = options;
  }

  async answer<R extends RecordedOk>(context: MeteredContext<B>, work: MeteredWork<B, R>) {
    const { budgets, clock } = this.#options;
    const askedAt = clock.monotonic();
    const result = await this.run(context, work);
    if (!result.ok) throw this.toApiError(result);
    const now = clock.monotonic();
    const { started_at } = context.recorder;
    const timing = writeServerTiming(now - started_at, now - askedAt, result.waitedMs);
    const { caller } = context;
    const shown = caller.limits && (await budgets.writeHeaders(caller));
    return { result, headers: { ...shown, "server-timing": timing } };
  }

  /**
   * Does the work, records and logs its result. With `retryDelay` it waits for quota, slot and
   * backend; without, it throws when they are not free.
   */
  async run<R extends RecordedOk>(
    context: MeteredContext<B>,
    work: MeteredWork<B, R>,
    retryDelay?: (result: MeteredResult<R>) => number | null,
  ): Promise<MeteredResult<R>> {
    const { service, running, budgets, clock } = this.#options;
    const { caller, signal, recorder, charge } = context;
    // Used-up budgets take no quota.
    if (caller.limits) await budgets.check(caller, need(0, charge));
    const askedAt = clock.monotonic();
    recorder.markAsked();
    let attempts = 0;
    const timedWork = async (backend: B) => {
      const waitedMs = clock.monotonic() - askedAt;
      const { inUse } = service.capacity.status();
      const result = await this.#workWithinBudgets(context, work, backend);
      // Attempts before a retry count, too.
      if (result.attempts !== undefined) attempts += result.attempts;
      if (result.attempts !== undefined) result.attempts = attempts;
      result.waitedMs = waitedMs + (result.waitedMs ?? 0);
      result.inFlight = inUse;
      result.inFlightMax = service.plan.max_concurrent;
      return result;
    };
    const pending = retryDelay
      ? service.usePatiently(caller, signal, timedWork, retryDelay)
      : service.use(caller, signal, timedWork);
    const result = await untilStop(running, pending, STOPPED_BEFORE).catch((error: unknown) => {
      this.#logLeft(error, context);
      throw error;
    });
    recorder.setResult(result);
    if (!result.ok) this.#logFailure(result, context);
    return result;
  }

  /** Reserves once quota and slot are taken: a request that waits for them holds no budget. */
  async #workWithinBudgets<R extends RecordedOk>(
    { caller, charge }: MeteredContext<B>,
    work: MeteredWork<B, R>,
    backend: B,
  ): Promise<MeteredResult<R>> {
    if (!caller.limits) return work(backend);
    const maximum = charge.countTokens(backend);
    const amounts = (tokens: number) => ({ tokens, cost: charge.costOf(tokens) ?? 0 });
    const reservation = await this.#options.budgets.reserve(caller, need(maximum, charge), () =>
      amounts(maximum),
    );
    if (!reservation) return work(backend);
    try {
      const result = await work(backend);
      if (result.ok) {
        const tokens = result.usage?.total_tokens ?? 0;
        reservation.settle(amounts(tokens), result.usageEstimated === true);
      } else if (isUnasked(result)) reservation.release();
      else reservation.settle(amounts(maximum), true);
      return result;
    } catch (bug) {
      reservation.settle(amounts(maximum), true);
      throw bug;
    }
  }

  toApiError({ code, retryAfterMs }: UpstreamError): ApiError {
    const { backendName, writeHeaders } = this.#options;
    const publicCode = publicErrorCode(code);
    const headers = { ...writeHeaders(publicCode, retryAfterMs) };
    if (publicCode === "service_unavailable" && retryAfterMs !== undefined) {
      // gateway.errors.headers.retry_after
      headers["retry-after"] = String(Math.max(1, Math.ceil(retryAfterMs / 1000)));
    }
    return apiError(publicCode, { headers, message: errorSentences(backendName)[publicCode] });
  }

  /** A caller that leaves while it waits has no failure to log, since no backend was asked. */
  #logLeft(error: unknown, context: MeteredContext<B>): void {
    if (!(error instanceof ApiError) || error.code !== LEFT) return;
    const fields = { ...this.#logFields(context), code: LEFT, status: ERROR_CODES[LEFT].status };
    this.#options.log.info("http: the caller left while its request waited", fields);
  }

  #logFailure(failure: UpstreamError & CompletionStats, context: MeteredContext<B>): void {
    const { log, backendName } = this.#options;
    const { code, reason, upstreamStatus, attempts } = failure;
    const fields = { ...this.#logFields(context), upstream_status: upstreamStatus, code };
    if (code === LEFT) log.info(reason, { ...fields, status: ERROR_CODES[code].status });
    else if (failure.endedBy === "stop") log.info(reason, fields);
    else if (attempts === 0) log.info(`${backendName}: not asked`, { ...fields, reason });
    else log.warn(`${backendName}: a request failed`, { ...fields, reason });
  }

  #logFields({ request_id, trace, caller }: MeteredContext<B>) {
    const { account_id, key_id } = caller;
    const { route } = this.#options;
    return { request_id, trace_id: traceIdOf(trace), account_id, key_id, route };
  }
}

function need<B>(tokens: number, { costOf }: Charge<B>): NeededAmounts {
  return { requests: 1, tokens, cost: costOf(tokens) };
}

/**
 * gateway.errors.service_unavailable: the backend is unreachable, busy or refuses us, so nothing
 * was spent.
 */
const PUBLIC_CODES: Partial<Record<UpstreamError["code"], ErrorCode>> = {
  model_offline: "service_unavailable",
  model_unavailable: "service_unavailable",
  upstream_rate_limited: "service_unavailable",
};

export function publicErrorCode(code: UpstreamError["code"]): ErrorCode {
  return PUBLIC_CODES[code] ?? code;
}

/** gateway.errors.p9 */
export const NO_RETRY: Readonly<Record<string, string>> = { "x-should-retry": "false" };

export function errorSentences(backendName: string): Partial<Record<ErrorCode, string>> {
  return {
    upstream_error: `The ${backendName} failed or answered invalidly.`,
    upstream_timeout: `The ${backendName} did not answer in time.`,
    service_unavailable: `The ${backendName} cannot take the request now.`,
  };
}
