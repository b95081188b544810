// Joins doors and pages into one listening server; Elysia finds the route, the door does the rest.

import { Elysia } from "elysia";
import { type Clock, endsWithin } from "../platform/clock.ts";
import { ApiError, apiError } from "../platform/errors.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Service } from "../platform/service.ts";
import { type ActiveCallers, createActiveCallers, createNameClient } from "./clients.ts";
import { respondError, surfaceOfPath } from "./envelope.ts";
import { listenError } from "./listen-error.ts";
import { documentRoute } from "./openapi/document.ts";
import { createOrigins, type OriginRules } from "./origins.ts";
import { pathOf } from "./parameters.ts";
import { chooseRequestId } from "./request-id.ts";
import type { Router } from "./router.ts";
import { closeAfterReply, isBounded } from "./unread-body.ts";

/**
 * After so much silence a connection is closed, and so is one whose reader has stopped. Streams
 * send comments sooner, and a late body is refused sooner.
 */
const IDLE_TIMEOUT_S = 60;
/** The door bounds bodies and says so in the envelope; the server's own refusal has none. */
const BODY_BYTES_OUT_OF_REACH = Number.MAX_SAFE_INTEGER;
/** What was told at the deadline of a stop has this long to reach its callers. */
const GRACE_MS = 1_000;

export interface StaticPage {
  path: string;
  /** A Refusal that it throws is answered in the gateway's envelope. */
  answer(request: Request): Response | Promise<Response>;
}

export interface HttpServerOptions {
  host: string;
  port: number;
  /** Whose X-Forwarded-For is believed; left out: nobody's. */
  trusted_proxies?: readonly string[];
  /** Which web pages may ask; left out: none that a browser asks about first. */
  origins?: OriginRules;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** Ends what still runs at the deadline of a stop, with a word to its callers. */
  endRunning?(): void;
}

export interface HttpServer extends Service {
  /** Adds the routes of a door and pages that need no key; all before the start. */
  open(doors: readonly Router[], pages: readonly StaticPage[]): void;
  /** Answers one request without a socket. */
  answer(request: Request): Promise<Response>;
  /** Until what it returns is called, the connection of a request may be silent. */
  holdOpen(request: Request): () => void;
  /** The name of the client that sent a request: who has another is another. */
  addressOf(request: Request): string;
  /** Whose requests are under way and had a good key: their connections are not closed. */
  callers: ActiveCallers;
  /** True: new requests are refused. */
  isStopping(): boolean;
  /** Where it listens, once started: `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly app: Elysia;
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { ids, log } = options;
  const app = new Elysia({ strictPath: true, normalize: false });
  const nameClient = createNameClient(options.trusted_proxies ?? []);
  let server: Bun.Server<undefined> | undefined;
  let isStopping = false;
  const answerPages: Record<string, typeof intake.answer> = {};

  const answerRefused = (refusal: ApiError, request: Request) =>
    respondError(refusal, surfaceOfPath(pathOf(request.url)), chooseRequestId(request, ids));

  const route = (request: Request) => app.fetch(request);
  const intake = createRequestFilter({ ...options, route, answerRefused });
  const findPeer = (request: Request) => server?.requestIP(request) ?? null;
  const callers = createActiveCallers(intake.findSent, findPeer);

  return {
    name: "http",
    app,
    callers,
    open(doors, pages) {
      // It covers only what is registered after it.
      app.onError({ as: "global" }, ({ code, error, request }) => {
        if (code === "NOT_FOUND") return answerRefused(apiError("not_found"), request);
        if (error instanceof ApiError) return answerRefused(error, request);
        log.error("a request failed outside of its route", { error });
        return answerRefused(apiError("internal_error"), request);
      });
      for (const { method, path, answer, spec, surface } of doors.flatMap((door) => door.routes)) {
        const detail = documentRoute(spec, surface);
        const open = ({ request }: { request: Request }) =>
          isStopping ? answerRefused(refuseStopping(), request) : answer(request);
        app.route(method, path, open, { parse: "none", detail });
      }
      for (const { path, answer } of pages) {
        answerPages[path] = intake.answer;
        const hidden = { parse: "none", detail: { hide: true } } as const;
        app.get(path, ({ request }) => withRequestId(request, answer, ids), hidden);
      }
      app.compile();
    },
    answer: async (request) => intake.answer(request),
    holdOpen(request) {
      const known = intake.findSent(request);
      server?.timeout(known, 0);
      return () => server?.timeout(known, IDLE_TIMEOUT_S);
    },
    addressOf(request) {
      const peer = server?.requestIP(intake.findSent(request))?.address ?? null;
      return nameClient(peer, request.headers.get("x-forwarded-for"));
    },
    start() {
      try {
        server = Bun.serve({
          hostname: options.host,
          port: options.port,
          // A second instance on the same port must fail, not share it.
          reusePort: false,
          // Bun's own error page shows the message and 50 KB around it.
          development: false,
          idleTimeout: IDLE_TIMEOUT_S,
          maxRequestBodySize: BODY_BYTES_OUT_OF_REACH,
          // By the path as it was sent: the URL of a request no longer shows it.
          routes: { "/v1/*": intake.answerVersioned, ...answerPages },
          fetch: intake.answerUnknown,
          error: (error) => {
            log.error("a request failed outside of every route", { error });
            return respondError(apiError("internal_error"), "gateway", ids.uuid());
          },
        });
      } catch (failure) {
        throw listenError(failure, options);
      }
    },
    async stop(deadline_ms) {
      if (!server) return;
      isStopping = true;
      await stopServer(server, deadline_ms, options);
    },
    isStopping: () => isStopping,
    get url() {
      if (!server) throw new Error("the server has not been started");
      return writeUrl(options.host, server);
    },
  };
}

function writeUrl(host: string, { port }: Bun.Server<undefined>): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

async function withRequestId(request: Request, answer: StaticPage["answer"], ids: Ids) {
  // Elysia answers HEAD for pages by itself; a wrong method is not found under /v1 only.
  const response = await answer(request);
  response.headers.set("x-request-id", chooseRequestId(request, ids));
  return response;
}

/** Lets what runs end until the deadline, then says so to whoever still waits, and lets go. */
async function stopServer(
  server: Bun.Server<undefined>,
  deadline_ms: number,
  { clock, endRunning }: HttpServerOptions,
): Promise<void> {
  // Nobody can connect any more, idle connections are closed, and each other after its reply.
  const closed = server.stop();
  if (!(await endsWithin(clock, deadline_ms, closed))) {
    endRunning?.();
    await endsWithin(clock, Math.min(deadline_ms, GRACE_MS), closed);
  }
  await server.stop(true);
}

/** Of what began to arrive just before the stop: clients try again, and find who serves then. */
function refuseStopping(): ApiError {
  return apiError("service_unavailable", {
    message: "The service is being stopped: send the request again.",
    headers: { connection: "close" },
  });
}

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

function createRequestFilter(options: RequestFilterOptions): RequestFilter {
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
