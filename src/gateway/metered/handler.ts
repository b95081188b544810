// One request of embeddings or search on its way: its turn, what answers it, and what is noted of
// its end.
import type { Caller } from "../../access/index.ts";
import type { CompletionStats, UpstreamError } from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { ApiError, ERROR_CODES } from "../../platform/errors.ts";
import type { Log } from "../../platform/log.ts";
import { type Trace, traceIdOf } from "../../platform/trace.ts";
import { type InFlight, isStopped, STOPPED, untilStop } from "../in-flight.ts";
import type { GatewayRecorder, RecordedOk } from "../request-log/recorder.ts";
import { writeServerTiming } from "../server-timing.ts";
import { meteredError, type WriteHeaders } from "./failure.ts";
import type { MeteredBackend, MeteredPlan, MeteredService } from "./service.ts";

/** A valid request, as the door hands it over. */
export interface MeteredContext {
  caller: Caller;
  request: Request;
  request_id: string;
  trace: Trace | null;
  recorder: GatewayRecorder;
}

export interface MeteredHandlerOptions<P extends MeteredPlan, S extends MeteredBackend> {
  service: MeteredService<P, S>;
  running: InFlight;
  clock: Clock;
  log: Log;
  /** For the log: `POST /v1/embeddings`. */
  route: string;
  /** What answers, for people: "search engine". */
  who: string;
  /** Of a refusal that a failure becomes. */
  writeHeaders: WriteHeaders;
}

/** What comes of the work once it has its turn; whatever else comes of it is refused. */
export type MeteredHandler<S> = <A extends RecordedOk>(
  visit: MeteredContext,
  work: (supply: S, signal: AbortSignal) => Promise<(A | UpstreamError) & CompletionStats>,
) => Promise<{ answer: A; headers: Record<string, string> }>;

/** Nothing was made of it that anybody got: gateway.errors.service_unavailable */
const STOPPED_BEFORE: UpstreamError = { ...STOPPED, code: "model_offline" };

export function createMeteredHandler<P extends MeteredPlan, S extends MeteredBackend>(
  options: MeteredHandlerOptions<P, S>,
): MeteredHandler<S> {
  const { service, clock, who, writeHeaders } = options;
  return async (visit, work) => {
    const { caller, recorder } = visit;
    const { signal } = visit.request;
    const asked_at = clock.monotonic();
    const asking = service.use(caller, signal, (supply) =>
      timeWork(clock, asked_at, () => work(supply, signal)),
    );
    const ending = await recordResult(visit, asking, options);
    if (!ending.ok) throw meteredError(ending, who, writeHeaders);
    const now = clock.monotonic();
    const timing = writeServerTiming(now - recorder.started_at, now - asked_at, ending.waitedMs);
    return { answer: ending, headers: { "server-timing": timing } };
  };
}

/** Does the work, and notes how long it had to wait for its turn. */
export async function timeWork<E extends CompletionStats>(
  clock: Clock,
  asked_at: number,
  work: () => Promise<E>,
): Promise<E> {
  const waited_ms = clock.monotonic() - asked_at;
  const ending = await work();
  ending.waitedMs = waited_ms + (ending.waitedMs ?? 0);
  return ending;
}

type Asker = Omit<MeteredContext, "request">;

/** How it ends, which is noted, at a stop too; throws what it was refused with. */
export async function recordResult<E extends (RecordedOk | UpstreamError) & CompletionStats>(
  visit: Asker,
  asking: Promise<E>,
  options: Noting & { running: InFlight },
): Promise<E | (UpstreamError & CompletionStats)> {
  const ending = await untilStop(options.running, asking, STOPPED_BEFORE).catch(
    (refusal: unknown) => {
      noteLeaving(refusal, visit, options);
      throw refusal;
    },
  );
  visit.recorder.setResult(ending);
  if (!ending.ok) noteFailure(ending, visit, options);
  return ending;
}

type Noting = Pick<MeteredHandlerOptions<MeteredPlan, MeteredBackend>, "log" | "route" | "who">;

/** gateway.errors.client_closed_request: logged only, with the status that nobody receives. */
const LEFT = "client_closed_request";

/** Who leaves while waiting for a turn was never asked for, so that there is no failure to note. */
function noteLeaving(refusal: unknown, visit: Asker, { log, route }: Noting): void {
  if (!(refusal instanceof ApiError) || refusal.code !== LEFT) return;
  const fields = { ...nameVisit(visit, route), code: LEFT, status: ERROR_CODES[LEFT].status };
  log.info("the caller left before it had its turn", fields);
}

function noteFailure(
  failure: UpstreamError & CompletionStats,
  visit: Asker,
  { log, route, who }: Noting,
): void {
  const { code, reason: why, upstreamStatus: upstream_status, attempts } = failure;
  const fields = { ...nameVisit(visit, route), upstream_status, code };
  if (code === LEFT) log.info(why, { ...fields, status: ERROR_CODES[code].status });
  else if (isStopped(failure)) log.info(why, fields);
  else if (attempts === 0) log.info(`the ${who} was not asked: ${why}`, fields);
  else log.warn(`the ${who} failed: ${why}`, fields);
}

function nameVisit({ request_id, trace, caller }: Asker, route: string) {
  const { account_id, key_id } = caller;
  return { request_id, trace_id: traceIdOf(trace), account_id, key_id, route };
}
