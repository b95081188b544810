// The one door for all routes: who, how often, what for and in what form, judged in one order.
import type { Static, TObject, TSchema } from "@sinclair/typebox";
import {
  accountOf,
  type Caller,
  type Identify,
  isInternal,
  type Limiter,
  type Scope,
} from "../access/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { type Code, type Half, Refusal, refuse, shownCode } from "../platform/refusal.ts";
import { readTrace, type Trace, traceIdOf } from "../platform/trace.ts";
import { readJson, refuseLength } from "./body.ts";
import { answerRefusal, sendRefusal, writeEnvelope } from "./envelope.ts";
import type { Meter, Tally } from "./meter.ts";
import type { DocumentedHeader } from "./openapi.ts";
import { chooseRequestId } from "./request-id.ts";
import { compileCheck } from "./validation.ts";

export type Verb = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
/** gateway.p4, gateway.p5, gateway.versioning.1: every route lies below the version. */
export type Path = `/v1/${string}`;

/** A success, for the document. */
interface DocumentedReply {
  description: string;
  schema: TObject;
  /** Server-sent events beside JSON. */
  stream?: TObject;
  /** Beside those of every reply. */
  headers?: readonly DocumentedHeader[];
}

/** What a route says of itself: enough to judge a request, and to document it. */
export interface RouteSpec<B extends TSchema = TSchema, T extends Tally = Tally> {
  summary: string;
  description?: string;
  /** The scope that the route itself needs; left out: none. */
  scope?: Scope;
  body?: B;
  body_bytes_max?: number;
  /** The reply may take as long as a model takes: the connection is not closed for being idle. */
  is_slow?: boolean;
  /** Keeps accounts of its requests; left out: nobody does. */
  meter?: Meter<T>;
  replies: Record<number, DocumentedReply>;
  /** The codes that this route can refuse with, beside those of every route. */
  refusals: readonly Code[];
  /** What they say, for the document, where it is not the catalogue's sentence. */
  refusal_sentences?: Readonly<Partial<Record<Code, string>>>;
  /** What the refusals of a status carry, beside what those of every route do. */
  refusal_headers?: Readonly<Record<number, readonly DocumentedHeader[]>>;
}

export interface Ask<B, T = unknown> {
  caller: Caller;
  body: B;
  request: Request;
  request_id: string;
  trace: Trace | null;
  /** Of a metered route: the handler closes it when it answers with a `Response` of its own. */
  tally: T;
}

/** A ready response, or a status and the value that becomes its JSON body. */
export type Reply =
  | Response
  | readonly [status: number, value: unknown, headers?: Record<string, string>];
export type Handler<B, T = unknown> = (ask: Ask<B, T>) => Promise<Reply> | Reply;

/** One request on its way through the door. */
interface Visit<T> {
  request: Request;
  request_id: string;
  trace: Trace | null;
  started_at: number;
  /** undefined: it does not count, or not yet. */
  tally: T | undefined;
}

export interface Route {
  verb: Verb;
  path: Path;
  half: Half;
  spec: RouteSpec;
  answer(request: Request): Promise<Response>;
}

export interface DoorOptions {
  half: Half;
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

/** gateway.limits.body_size: chat and embeddings allow more. */
const BODY_BYTES_MAX = 100 * 1024;
/**
 * After so long an answer is late: its connection is held open. Most are never late, and the
 * server closes none sooner, not even one whose body took all its time.
 */
const LATE_MS = 10_000;

/** Registers routes of one half; `routes` fills as houses are built. */
export function createDoor(options: DoorOptions) {
  const routes: Route[] = [];
  const add = <B extends TSchema, T extends Tally>(
    verb: Verb,
    path: Path,
    spec: RouteSpec<B, T>,
    handler: Handler<Static<B>, T>,
  ) => {
    const judged = createAnswer(options, verb, path, spec, handler);
    const answer = tellReplies(options, { verb, path }, judged);
    routes.push({ verb, path, half: options.half, spec: spec as unknown as RouteSpec, answer });
  };
  return {
    routes: routes as readonly Route[],
    get: (path: Path, spec: RouteSpec<never>, handler: Handler<undefined>) =>
      add("GET", path, spec, handler as Handler<never>),
    post: <B extends TSchema, T extends Tally>(
      path: Path,
      spec: RouteSpec<B, T>,
      handler: Handler<Static<B>, T>,
    ) => add("POST", path, spec, handler),
  };
}
export type Door = ReturnType<typeof createDoor>;

function createAnswer<B extends TSchema, T extends Tally>(
  options: DoorOptions,
  verb: Verb,
  path: Path,
  spec: RouteSpec<B, T>,
  handler: Handler<Static<B>, T>,
): Route["answer"] {
  const { half, clock, ids, log } = options;
  const check = spec.body && compileCheck(spec.body);
  const bytes_max = spec.body_bytes_max ?? BODY_BYTES_MAX;
  const route = `${verb} ${path}`;
  // gateway.p7
  const internal_prefix = `x-${options.alias}-internal`;

  const readBody = async ({ request, request_id, trace, tally }: Visit<T>): Promise<unknown> => {
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

  const judge = async (visit: Visit<T>): Promise<Reply> => {
    const { request, request_id, trace } = visit;
    // gateway.p3, gateway.endpoints.p1
    const caller = await options.identify(request.headers.get("authorization"));
    // gateway.authentication.3, gateway.errors.permission_denied
    if (isInternal(caller) || hasHeader(request, internal_prefix)) {
      throw refuse("permission_denied");
    }
    // gateway.limits.rate: all keys of an account share one counter for each route.
    options.limiter.take(`${accountOf(caller)} ${route}`);
    const tally = spec.meter?.open({ caller, request_id, trace, started_at: visit.started_at });
    visit.tally = tally;
    if (spec.scope && !caller.scopes.includes(spec.scope)) {
      // gateway.authentication.4
      throw refuse("scope_required", { message: `This route needs the scope ${spec.scope}.` });
    }
    // gateway.limits.body_size: also where no body is read.
    if (!check) refuseLength(request, bytes_max);
    const body = (check ? check(await readBody(visit)) : undefined) as Static<B>;
    const release = spec.is_slow ? holdOpenLater(options, request) : undefined;
    try {
      return await handler({ caller, body, request, request_id, trace, tally: tally as T });
    } finally {
      // A stream has begun by now: its comments keep it open, and who stops reading is cut off.
      release?.();
    }
  };

  const answerFailure = ({ request_id, trace, tally }: Visit<T>, failure: unknown): Response => {
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
    const visit: Visit<T> = { request, request_id, trace, started_at, tally: undefined };
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

/** gateway.endpoints.p2 */
function writeReply(
  [status, value, headers]: Exclude<Reply, Response>,
  { request_id, tally }: Visit<Tally>,
): Response {
  const text = JSON.stringify(value);
  tally?.close(status, null, Buffer.byteLength(text));
  return new Response(text, {
    status,
    headers: { ...headers, "content-type": "application/json", "x-request-id": request_id },
  });
}
