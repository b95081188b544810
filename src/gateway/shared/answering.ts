// One request of embeddings or search on its way: its turn, what answers it, and what is noted of
// its end.
import type { Caller } from "../../access/index.ts";
import type { Failure, Journey } from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import { CATALOGUE, Refusal } from "../../platform/refusal.ts";
import { type Trace, traceIdOf } from "../../platform/trace.ts";
import type { Answered, RequestTally } from "../ledger/tally.ts";
import { isStopped, type Running, STOPPED, untilStop } from "../running.ts";
import { writeServerTiming } from "../server-timing.ts";
import { refuseShared, type WriteHeaders } from "./failure.ts";
import type { SharedPlan, SharedService, SharedSupply } from "./service.ts";

/** A valid request, as the door hands it over. */
export interface SharedVisit {
  caller: Caller;
  request: Request;
  request_id: string;
  trace: Trace | null;
  tally: RequestTally;
}

export interface AnsweringOptions<P extends SharedPlan, S extends SharedSupply> {
  service: SharedService<P, S>;
  running: Running;
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
export type Answering<S> = <A extends Answered>(
  visit: SharedVisit,
  work: (supply: S, signal: AbortSignal) => Promise<(A | Failure) & Journey>,
) => Promise<{ answer: A; headers: Record<string, string> }>;

/** Nothing was made of it that anybody got: gateway.errors.service_unavailable */
const STOPPED_BEFORE: Failure = { ...STOPPED, code: "model_offline" };

export function createAnswering<P extends SharedPlan, S extends SharedSupply>(
  options: AnsweringOptions<P, S>,
): Answering<S> {
  const { service, clock, who, writeHeaders } = options;
  return async (visit, work) => {
    const { caller, tally } = visit;
    const { signal } = visit.request;
    const asked_at = clock.monotonic();
    const asking = service.use(caller, signal, (supply) =>
      timeWork(clock, asked_at, () => work(supply, signal)),
    );
    const ending = await endAsking(visit, asking, options);
    if (!ending.ok) throw refuseShared(ending, who, writeHeaders);
    const now = clock.monotonic();
    const timing = writeServerTiming(now - tally.started_at, now - asked_at, ending.waited_ms);
    return { answer: ending, headers: { "server-timing": timing } };
  };
}

/** Does the work, and notes how long it had to wait for its turn. */
export async function timeWork<E extends Journey>(
  clock: Clock,
  asked_at: number,
  work: () => Promise<E>,
): Promise<E> {
  const waited_ms = clock.monotonic() - asked_at;
  const ending = await work();
  ending.waited_ms = waited_ms + (ending.waited_ms ?? 0);
  return ending;
}

type Asker = Omit<SharedVisit, "request">;

/** How it ends, which is noted, at a stop too; throws what it was refused with. */
export async function endAsking<E extends (Answered | Failure) & Journey>(
  visit: Asker,
  asking: Promise<E>,
  options: Noting & { running: Running },
): Promise<E | (Failure & Journey)> {
  const ending = await untilStop(options.running, asking, STOPPED_BEFORE).catch(
    (refusal: unknown) => {
      noteLeaving(refusal, visit, options);
      throw refusal;
    },
  );
  visit.tally.end(ending);
  if (!ending.ok) noteFailure(ending, visit, options);
  return ending;
}

type Noting = Pick<AnsweringOptions<SharedPlan, SharedSupply>, "log" | "route" | "who">;

/** gateway.errors.client_closed_request: logged only, with the status that nobody receives. */
const LEFT = "client_closed_request";

/** Who leaves while waiting for a turn was never asked for, so that there is no failure to note. */
function noteLeaving(refusal: unknown, visit: Asker, { log, route }: Noting): void {
  if (!(refusal instanceof Refusal) || refusal.code !== LEFT) return;
  const fields = { ...nameVisit(visit, route), code: LEFT, status: CATALOGUE[LEFT].status };
  log.info("the caller left before it had its turn", fields);
}

function noteFailure(failure: Failure & Journey, visit: Asker, { log, route, who }: Noting): void {
  const { code, why, upstream_status, attempts } = failure;
  const fields = { ...nameVisit(visit, route), upstream_status, code };
  if (code === LEFT) log.info(why, { ...fields, status: CATALOGUE[code].status });
  else if (isStopped(failure)) log.info(why, fields);
  else if (attempts === 0) log.info(`the ${who} was not asked: ${why}`, fields);
  else log.warn(`the ${who} failed: ${why}`, fields);
}

function nameVisit({ request_id, trace, caller }: Asker, route: string) {
  const { account_id, key_id } = caller;
  return { request_id, trace_id: traceIdOf(trace), account_id, key_id, route };
}
