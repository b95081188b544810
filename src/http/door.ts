// The one door for all routes: who, how often, what for and in what form, judged in one order.
import type { TSchema } from "@sinclair/typebox";
import { type Identify, isInternal, type Limiter, requireScope } from "../access/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { Refusal, refuse, shownCode } from "../platform/refusal.ts";
import { readTrace, type Trace, traceIdOf } from "../platform/trace.ts";
import { readJson, refuseLength } from "./body.ts";
import { answerRefusal, sendRefusal, writeEnvelope } from "./envelope.ts";
import { chooseRules, type HalfOptions, type HalfRules } from "./half-rules.ts";
import { listUuids, lowerUuids } from "./identifier.ts";
import type { Tally } from "./meter.ts";
import { compileParameters } from "./parameters.ts";
import { chooseRequestId } from "./request-id.ts";
import type {
  Ask,
  Path,
  Register,
  RegisterBodiless,
  Reply,
  Route,
  RouteSpec,
  Verb,
} from "./route.ts";
import { compileCheck } from "./validation.ts";

/** One request on its way through the door. */
interface Visit {
  request: Request;
  request_id: string;
  trace: Trace | null;
  started_at: number;
  /** undefined: it does not count, or not yet. */
  tally: Tally | undefined;
}

export type DoorOptions = CommonOptions & HalfOptions;

interface CommonOptions {
  /** Platform-internal headers carry the alias in their name. */
  alias: string;
  identify: Identify;
  limiter: Limiter;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** Lets a request be answered late, until what it returns is called. */
  holdOpen(request: Request): () => void;
  /** Told of every reply's head; null: nobody counts. */
  observe: Observe | null;
}

export type Observe = (
  route: Pick<Route, "verb" | "path">,
  status: number,
  duration_ms: number,
) => void;

/**
 * After so long an answer is late: its connection is held open. Most are never late, and the
 * server closes none sooner, not even one whose body took all its time.
 */
const LATE_MS = 10_000;

/** Registers routes of one half; `routes` fills as houses are built. */
export function createDoor(options: DoorOptions) {
  const routes: Route[] = [];
  const rules = chooseRules(options);
  const open = (verb: Verb) => (path: Path, spec: RouteSpec, handler: AnyHandler) => {
    const judged = createAnswer(options, rules, { verb, path, spec, handler });
    const answer = tellReplies(options, { verb, path }, judged);
    routes.push({ verb, path, half: options.half, spec, answer });
  };
  return {
    routes: routes as readonly Route[],
    get: open("GET") as unknown as RegisterBodiless,
    post: open("POST") as unknown as Register,
    put: open("PUT") as unknown as Register,
    patch: open("PATCH") as unknown as Register,
    delete: open("DELETE") as unknown as RegisterBodiless,
  };
}
export type Door = ReturnType<typeof createDoor>;

/** Of what its route said it takes, which only `Register` knows. */
type AnyHandler = (ask: Ask<unknown>) => Promise<Reply> | Reply;

interface Registered {
  verb: Verb;
  path: Path;
  spec: RouteSpec;
  handler: AnyHandler;
}

function createAnswer(
  options: DoorOptions,
  rules: HalfRules,
  { verb, path, spec, handler }: Registered,
): Route["answer"] {
  const { half, clock, ids, log } = options;
  const readParameters = compileParameters(path, spec, rules.refuses_query);
  const check = spec.body && compileBody(spec.body);
  const bytes_max = spec.body_bytes_max ?? rules.body_bytes_max;
  const route = `${verb} ${path}`;
  // gateway.p7
  const internal_prefix = `x-${options.alias}-internal`;

  const readBody = async ({ request, request_id, trace, tally }: Visit): Promise<unknown> => {
    try {
      return await readJson(request, bytes_max, clock, tally);
    } catch (failure) {
      // gateway.errors.client_closed_request: logged only, with a status that nobody receives.
      if (failure instanceof Refusal && failure.code === "client_closed_request") {
        const { code, status } = failure;
        const fields = { request_id, trace_id: traceIdOf(trace), route, code, status };
        log.info("the caller left before its body was whole", fields);
      }
      throw failure;
    }
  };

  const judge = async (visit: Visit): Promise<Reply> => {
    const { request, request_id, trace } = visit;
    rules.admit(request);
    // gateway.p3, gateway.endpoints.p1, agents.authentication.1, agents.endpoints.p1
    const caller = await options.identify(request.headers.get("authorization"));
    // gateway.authentication.3, agents.authentication.4; gateway.errors.permission_denied
    if (isInternal(caller) || hasHeader(request, internal_prefix)) {
      throw refuse("permission_denied");
    }
    // gateway.limits.rate, agents.limits.request_rate, agents.limits.retry_after
    options.limiter.take(rules.nameCounter(caller, route));
    const tally = spec.meter?.open({ caller, request_id, trace, started_at: visit.started_at });
    visit.tally = tally;
    // gateway.authentication.4, agents.errors.scope_required
    if (spec.scope && rules.needsScope(spec)) requireScope(caller, spec.scope);
    // agents.errors.not_enabled
    if (spec.feature && !rules.isEnabled(spec.feature)) throw refuse("not_enabled");
    const { params, query } = readParameters(request.url);
    if (spec.admit) await spec.admit({ caller, params: params as Record<string, unknown> });
    // gateway.limits.body_size, agents.limits.body_size: also where no body is read.
    if (!check) refuseLength(request, bytes_max);
    const body = check ? check(await readBody(visit)) : undefined;
    const release = spec.is_slow ? holdOpenLater(options, request) : undefined;
    try {
      return await handler({ caller, params, query, body, request, request_id, trace, tally });
    } finally {
      // A stream has begun by now: its comments keep it open, and who stops reading is cut off.
      release?.();
    }
  };

  const answerFailure = ({ request_id, trace, tally }: Visit, failure: unknown): Response => {
    const refusal = failure instanceof Refusal ? failure : refuse("internal_error");
    const bug = failure instanceof Refusal ? failure.cause : failure;
    if (refusal.code === "internal_error") {
      // gateway.errors.internal_error
      const fields = { request_id, trace_id: traceIdOf(trace), route };
      log.error("a request failed", { ...fields, error: bug });
    }
    const text = writeEnvelope(refusal, half, request_id);
    // Who has left gets nothing of it.
    const bytes = refusal.code === "client_closed_request" ? 0 : Buffer.byteLength(text);
    tally?.close(refusal.status, shownCode(refusal.code, half) ?? refusal.code, bytes);
    return sendRefusal(refusal, text, request_id);
  };

  return async (request) => {
    const request_id = chooseRequestId(request, ids);
    // gateway.errors.not_found: HEAD and OPTIONS are wrong methods like any other.
    if (request.method !== verb) return answerRefusal(refuse("not_found"), half, request_id);
    const trace = readTrace(request.headers);
    const started_at = clock.monotonic();
    const visit: Visit = { request, request_id, trace, started_at, tally: undefined };
    try {
      const reply = await judge(visit);
      return reply instanceof Response ? reply : writeReply(reply, visit);
    } catch (failure) {
      return answerFailure(visit, failure);
    }
  };
}

/** The same answers, of each of which somebody is told. */
function tellReplies(
  { observe, clock }: DoorOptions,
  route: Pick<Route, "verb" | "path">,
  answer: Route["answer"],
): Route["answer"] {
  if (!observe) return answer;
  return async (request) => {
    const asked_at = clock.monotonic();
    const response = await answer(request);
    observe(route, response.status, clock.monotonic() - asked_at);
    return response;
  };
}

function holdOpenLater({ clock, holdOpen }: DoorOptions, request: Request): () => void {
  let release: (() => void) | undefined;
  const cancel = clock.after(LATE_MS, () => {
    release = holdOpen(request);
  });
  return () => {
    cancel();
    release?.();
  };
}

function hasHeader(request: Request, prefix: string): boolean {
  for (const name of request.headers.keys()) if (name.startsWith(prefix)) return true;
  return false;
}

/** A handler gets the ids in a body as it gets those in a path: in lower case. */
function compileBody(schema: TSchema): (value: unknown) => unknown {
  const check = compileCheck(schema);
  const uuids = listUuids(schema);
  if (uuids.length === 0) return check;
  return (value) => {
    const body = check(value);
    lowerUuids(body, uuids);
    return body;
  };
}

/** gateway.endpoints.p2 */
function writeReply(
  [status, value, headers]: Exclude<Reply, Response>,
  { request_id, tally }: Visit,
): Response {
  if (status === 204) {
    tally?.close(status, null, 0);
    return new Response(null, { status, headers: { ...headers, "x-request-id": request_id } });
  }
  const text = JSON.stringify(value);
  tally?.close(status, null, Buffer.byteLength(text));
  return new Response(text, {
    status,
    headers: { ...headers, "content-type": "application/json", "x-request-id": request_id },
  });
}
