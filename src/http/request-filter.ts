// Takes each request before its route is looked for: its URL, its web page, and its unread body.
import type { Clock } from "../platform/clock.ts";
import { type ApiError, apiError } from "../platform/errors.ts";
import type { Ids } from "../platform/ids.ts";
import { createOrigins, type OriginRules } from "./origins.ts";
import { pathOf } from "./parameters.ts";
import { chooseRequestId } from "./request-id.ts";
import { closeAfterReply, isBounded } from "./unread-body.ts";

export interface RequestFilterOptions {
  /** Left out: every page may ask, and none that a browser asks about first. */
  origins?: OriginRules;
  clock: Clock;
  ids: Ids;
  /** Finds the route of a request and answers it. */
  route(request: Request): Response | Promise<Response>;
  answerRefused(refusal: ApiError, request: Request): Response;
}

export interface RequestFilter {
  answer(request: Request): Response | Promise<Response>;
  /** Of what was sent below /v1, whatever its dots lead to. */
  answerVersioned(request: Request): Response | Promise<Response>;
  /** Of what was sent to any other path, whatever its dots lead to. */
  answerUnknown(request: Request): Response | Promise<Response>;
  /** The request that the socket knows, of one that a route was given. */
  findSent(request: Request): Request;
}

const EVERY_ORIGIN: OriginRules = {
  isLocalOnly: false,
  publicUrl: () => "",
  corsOrigins: () => [],
};
/** Elysia looks for the path from here on: a shorter host would hide its first segment. */
const PATH_FROM = 11;

export function createRequestFilter(options: RequestFilterOptions): RequestFilter {
  const { clock, ids, route, answerRefused } = options;
  const origins = createOrigins(options.origins ?? EVERY_ORIGIN);
  /** A request whose URL had to be rebuilt, and the one that the socket knows. */
  const rebuilt = new WeakMap<Request, Request>();

  const answerOpened = async (request: Request, origin: string) => {
    const preflight = origins.answerPreflight(request, origin);
    if (!preflight) return origins.open(await route(request), origin);
    preflight.headers.set("x-request-id", chooseRequestId(request, ids));
    return preflight;
  };
  const answerFound = (request: Request): Response | Promise<Response> => {
    const origin = origins.match(request);
    return origin === null ? route(request) : answerOpened(request, origin);
  };
  const answerBy = (answerJudged: RequestFilter["answer"]) => (sent: Request) => {
    const request = normalizeRequest(sent, rebuilt);
    const refusal = origins.judge(request);
    const reply = refusal ? answerRefused(refusal, request) : answerJudged(request);
    return isBounded(request) ? reply : closeAfterReply(request, reply, clock);
  };
  const answer = answerBy(answerFound);
  const answerUnknown = answerBy((request) => answerRefused(apiError("not_found"), request));
  return {
    answer,
    answerVersioned(request) {
      // A proxy that lets /v1 through means nothing else, and Bun has resolved the dots.
      return pathOf(request.url).startsWith("/v1/") ? answer(request) : answerUnknown(request);
    },
    answerUnknown,
    findSent: (request) => rebuilt.get(request) ?? request,
  };
}

/** Elysia reads another path in a URL with a short or malformed host: it gets a plain one. */
function normalizeRequest(request: Request, rebuilt: WeakMap<Request, Request>): Request {
  const url = request.url;
  if (url.startsWith("http://") && url.indexOf("/", 7) >= PATH_FROM) return request;
  const normal = new Request(`http://localhost${pathOf(url)}`, request);
  rebuilt.set(normal, request);
  return normal;
}
