// The router: authenticates, limits, authorizes, decodes and validates each request in one order.
import { Type } from "@sinclair/typebox";
import {
  type Identify,
  type IdentifyKey,
  isInternal,
  type RateLimiter,
  requireScope,
} from "../access/index.ts";
import { guardCallback } from "../platform/error-boundary.ts";
import { apiError } from "../platform/errors.ts";
import { checkLength, readJson } from "./body.ts";
import type { OpenRequests } from "./clients.ts";
import { readAuthorization } from "./dialects.ts";
import { compileFields } from "./fields.ts";
import { compileParameters } from "./parameters.ts";
import {
  createResponder,
  logDisconnect,
  type RequestContext,
  type ResponderOptions,
} from "./response.ts";
import type {
  HandlerContext,
  HandlerReply,
  HttpMethod,
  Path,
  Register,
  RegisterBodiless,
  Route,
  RouteSpec,
} from "./route.ts";
import { createSignedRoute, type RegisterSigned } from "./signed-route.ts";
import { createSurfacePolicy, type SurfaceOptions, type SurfacePolicy } from "./surface.ts";
import { compileCheck } from "./validation.ts";

export type RouterOptions = CommonOptions & SurfaceOptions;

interface CommonOptions extends Omit<ResponderOptions, "surface"> {
  /** Names of platform-internal headers contain the alias. */
  alias: string;
  identify: Identify;
  /** Finds the caller of a key that an operator sends a request as. */
  identifyKey: IdentifyKey;
  limiter: Pick<RateLimiter, "take">;
  holdOpen(request: Request): () => void;
  callers?: Pick<OpenRequests, "add" | "delete">;
}

/** Time after which a slow request's connection is held open; most requests end before. */
const LATE_MS = 10_000;

export function createRouter(options: RouterOptions) {
  const routes: Route[] = [];
  const policy = createSurfacePolicy(options);
  const open = (method: HttpMethod) => (path: Path, spec: RouteSpec, handler: AnyHandler) => {
    const handle = createPipeline(options, policy, { method, path, spec, handler });
    const { dialect, isOpen, challenge } = spec;
    const route = { method, path, dialect, isOpen, challenge };
    const answer = createResponder(options, route, handle);
    routes.push({ method, path, surface: options.surface, spec, answer });
  };
  return {
    routes: routes as readonly Route[],
    get: open("GET") as unknown as RegisterBodiless,
    post: open("POST") as unknown as Register,
    put: open("PUT") as unknown as Register,
    patch: open("PATCH") as unknown as Register,
    delete: open("DELETE") as unknown as RegisterBodiless,
    signed: ((path, spec, handler) => {
      routes.push(createSignedRoute(options, policy, path, spec, handler));
    }) as RegisterSigned,
  };
}
export type Router = ReturnType<typeof createRouter>;

/** A handler whose types only `Register` knows. */
type AnyHandler = (context: HandlerContext<unknown>) => Promise<HandlerReply> | HandlerReply;

/** agents.errors.p9: schema for routes without a body, since many clients always send one. */
const NO_FIELDS = Type.Object({}, { additionalProperties: false });

interface Registered {
  method: HttpMethod;
  path: Path;
  spec: RouteSpec;
  handler: AnyHandler;
}

function createPipeline(
  options: RouterOptions,
  policy: SurfacePolicy,
  { method, path, spec, handler }: Registered,
): (context: RequestContext) => Promise<HandlerReply> {
  const readParameters = compileParameters(path, spec, policy.isStrict);
  const takesNone = !spec.body && method !== "GET" && policy.isStrict;
  const check = takesNone ? compileCheck(NO_FIELDS) : spec.body && compileFields(spec.body);
  const bytesMax = spec.bodyBytesMax ?? policy.bodyBytesMax;
  const route = spec.countsAs ?? `${method} ${path}`;
  // gateway.p7
  const internalPrefix = `x-${options.alias}-internal`;
  const readBody = (context: RequestContext) => {
    const reading = readJson(context.request, bytesMax, options.clock, context.recorder);
    return logDisconnect(options, { method, path }, context, reading);
  };

  return async (context) => {
    const { request, request_id, trace, started_at, sentAs } = context;
    policy.requireOpen();
    const allowed = policy.limitAddress(request);
    if (allowed) await allowed;
    // gateway.p3, gateway.endpoints.p1, agents.authentication.1, agents.endpoints.p1
    const caller = sentAs
      ? await options.identifyKey(sentAs.key_id)
      : await options.identify(readAuthorization(request.headers, spec.dialect));
    const operator = sentAs?.operator;
    const recorder = spec.meter?.open({ caller, request_id, trace, started_at, operator });
    context.recorder = recorder;
    // gateway.authentication.3, agents.authentication.4; gateway.errors.permission_denied
    if (isInternal(caller) || hasHeader(request, internalPrefix)) {
      throw apiError("permission_denied");
    }
    // gateway.limits.rate, agents.limits.request_rate, agents.limits.retry_after
    const taken = options.limiter.take(policy.nameCounter(caller, route));
    if (taken) await taken;
    options.callers?.add(request);
    if (recorder) recorder.isAdmitted = true;
    // gateway.authentication.4, agents.errors.scope_required
    if (spec.scope && policy.needsScope(spec)) requireScope(caller, spec.scope);
    // agents.errors.not_enabled
    if (spec.feature && !policy.isEnabled(spec.feature)) throw apiError("not_enabled");
    const { params, query } = readParameters(request.url);
    if (spec.authorize) await spec.authorize({ caller, params: params as Record<string, unknown> });
    // gateway.limits.body_size, agents.limits.body_size: the limit also holds for unread bodies.
    if (!check) checkLength(request, bytesMax);
    const checked = check?.(await readBody(context));
    const body = takesNone ? undefined : checked;
    const release = isSlow(spec, request) ? holdOpenLater(options, context) : undefined;
    try {
      const asked = {
        caller,
        params,
        query,
        body,
        request,
        requestId: request_id,
        trace,
        recorder,
      };
      const reply = await handler(asked);
      if (!(reply instanceof Response)) options.callers?.delete(request);
      return reply;
    } finally {
      // A stream has begun by now, and its comments keep the connection open.
      release?.();
    }
  };
}

function isSlow({ isSlow: slow = false }: RouteSpec, request: Request): boolean {
  return typeof slow === "function" ? slow(request) : slow;
}

function holdOpenLater(
  { clock, holdOpen, log }: RouterOptions,
  { request, request_id }: RequestContext,
): () => void {
  let release: (() => void) | undefined;
  // The answer may still arrive in time.
  const onBug = (error: unknown) =>
    log.error("http: a connection could not be held open", { request_id, error });
  const hold = guardCallback(onBug, () => {
    release = holdOpen(request);
  });
  const cancel = clock.after(LATE_MS, hold);
  return () => {
    cancel();
    release?.();
  };
}

function hasHeader(request: Request, prefix: string): boolean {
  for (const name of request.headers.keys()) if (name.startsWith(prefix)) return true;
  return false;
}
