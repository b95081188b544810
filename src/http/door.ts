// The one door for all routes: who, how often, what for and in what form, judged in one order.
import type { Static, TObject, TSchema } from "@sinclair/typebox";
import {
  type Caller,
  type Identify,
  isInternal,
  type Limiter,
  type Scope,
} from "../access/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { type Code, type Half, Refusal, refuse } from "../platform/refusal.ts";
import { readJson, refuseLength } from "./body.ts";
import { answerRefusal } from "./envelope.ts";
import { chooseRequestId } from "./request-id.ts";
import { compileCheck } from "./validation.ts";

export type Verb = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
/** gateway.p4, gateway.p5, gateway.versioning.1: every route lies below the version. */
export type Path = `/v1/${string}`;

/** What a route says of itself: enough to judge a request, and to document it. */
export interface RouteSpec<B extends TSchema = TSchema> {
  summary: string;
  description?: string;
  /** The scope that the route itself needs; left out: none. */
  scope?: Scope;
  body?: B;
  body_bytes_max?: number;
  /** The reply may take as long as a model takes: the connection is not closed for being idle. */
  is_slow?: boolean;
  /** Success statuses with their schemas; `stream` documents server-sent events beside JSON. */
  replies: Record<number, { description: string; schema: TObject; stream?: TObject }>;
  /** The codes that this route can refuse with, beside those of every route. */
  refusals: readonly Code[];
}

export interface Ask<B> {
  caller: Caller;
  body: B;
  request: Request;
  request_id: string;
}

/** A ready response, or a status and the value that becomes its JSON body. */
export type Reply =
  | Response
  | readonly [status: number, value: unknown, headers?: Record<string, string>];
export type Handler<B> = (ask: Ask<B>) => Promise<Reply> | Reply;

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
  const add = <B extends TSchema>(
    verb: Verb,
    path: Path,
    spec: RouteSpec<B>,
    handler: Handler<Static<B>>,
  ) => {
    const answer = createAnswer(options, verb, path, spec, handler);
    routes.push({ verb, path, half: options.half, spec: spec as unknown as RouteSpec, answer });
  };
  return {
    routes: routes as readonly Route[],
    get: (path: Path, spec: RouteSpec<never>, handler: Handler<undefined>) =>
      add("GET", path, spec, handler as Handler<never>),
    post: <B extends TSchema>(path: Path, spec: RouteSpec<B>, handler: Handler<Static<B>>) =>
      add("POST", path, spec, handler),
  };
}
export type Door = ReturnType<typeof createDoor>;

function createAnswer<B extends TSchema>(
  options: DoorOptions,
  verb: Verb,
  path: Path,
  spec: RouteSpec<B>,
  handler: Handler<Static<B>>,
): Route["answer"] {
  const { half, clock, ids, log } = options;
  const check = spec.body && compileCheck(spec.body);
  const bytes_max = spec.body_bytes_max ?? BODY_BYTES_MAX;
  const route = `${verb} ${path}`;
  // gateway.p7
  const internal_prefix = `x-${options.alias}-internal`;

  const readBody = async (request: Request, request_id: string): Promise<unknown> => {
    try {
      return await readJson(request, bytes_max, clock);
    } catch (failure) {
      // gateway.errors.client_closed_request: logged only, with a status that nobody receives.
      if (failure instanceof Refusal && failure.code === "client_closed_request") {
        const { code, status } = failure;
        log.info("the caller left before its body was whole", { request_id, route, code, status });
      }
      throw failure;
    }
  };

  const judge = async (request: Request, request_id: string): Promise<Reply> => {
    // gateway.p3, gateway.endpoints.p1
    const caller = await options.identify(request.headers.get("authorization"));
    // gateway.authentication.3, gateway.errors.permission_denied
    if (isInternal(caller) || hasHeader(request, internal_prefix)) {
      throw refuse("permission_denied");
    }
    // gateway.limits.rate: all keys of an account share one counter for each route.
    options.limiter.take(`${caller.account_id ?? caller.key_id} ${route}`);
    if (spec.scope && !caller.scopes.includes(spec.scope)) {
      // gateway.authentication.4
      throw refuse("scope_required", { message: `This route needs the scope ${spec.scope}.` });
    }
    // gateway.limits.body_size: also where no body is read.
    if (!check) refuseLength(request, bytes_max);
    const body = check ? check(await readBody(request, request_id)) : undefined;
    const release = spec.is_slow ? holdOpenLater(options, request) : undefined;
    try {
      return await handler({ caller, body: body as Static<B>, request, request_id });
    } finally {
      // A stream has begun by now: its comments keep it open, and who stops reading is cut off.
      release?.();
    }
  };

  const answer = async (request: Request): Promise<Response> => {
    const request_id = chooseRequestId(request, ids);
    // gateway.errors.not_found: HEAD and OPTIONS are wrong methods like any other.
    if (request.method !== verb) return answerRefusal(refuse("not_found"), half, request_id);
    try {
      const reply = await judge(request, request_id);
      return reply instanceof Response ? reply : writeReply(reply, request_id);
    } catch (failure) {
      if (failure instanceof Refusal) return answerRefusal(failure, half, request_id);
      // gateway.errors.internal_error
      log.error("a request failed", { request_id, route, error: failure });
      return answerRefusal(refuse("internal_error"), half, request_id);
    }
  };
  const { observe } = options;
  if (!observe) return answer;
  return async (request) => {
    const asked_at = clock.monotonic();
    const response = await answer(request);
    observe({ verb, path }, response.status, clock.monotonic() - asked_at);
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
function writeReply([status, value, headers]: Exclude<Reply, Response>, request_id: string) {
  return new Response(JSON.stringify(value), {
    status,
    headers: { ...headers, "content-type": "application/json", "x-request-id": request_id },
  });
}
