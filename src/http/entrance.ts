// Joins doors and pages into one listening server; Elysia finds the route, the door does the rest.
import { Elysia } from "elysia";
import { type Clock, endsWithin } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { type Refusal, refuse } from "../platform/refusal.ts";
import type { Service } from "../platform/service.ts";
import { refuseListening } from "./cannot-listen.ts";
import { createNameClient } from "./client-address.ts";
import type { Door } from "./door.ts";
import { answerRefusal, halfOfPath } from "./envelope.ts";
import { documentRoute } from "./openapi.ts";
import { pathOf } from "./parameters.ts";
import { chooseRequestId } from "./request-id.ts";

/**
 * After so much silence a connection is closed, and so is one whose reader has stopped. Streams
 * send comments sooner, and a late body is refused sooner.
 */
const IDLE_TIMEOUT_S = 60;
/** The door bounds bodies and says so in the envelope; the server's own refusal has none. */
const BODY_BYTES_OUT_OF_REACH = Number.MAX_SAFE_INTEGER;
/** What was told at the deadline of a stop has this long to reach its callers. */
const GRACE_MS = 1_000;
/** Elysia looks for the path from here on: a shorter host would hide its first segment. */
const PATH_FROM = 11;

export interface Page {
  path: string;
  answer(request: Request): Response | Promise<Response>;
}

export interface EntranceOptions {
  host: string;
  port: number;
  /** Whose X-Forwarded-For is believed; left out: nobody's. */
  trusted_proxies?: readonly string[];
  clock: Clock;
  ids: Ids;
  log: Log;
  /** Ends what still runs at the deadline of a stop, with a word to its callers. */
  endRunning?(): void;
}

export interface Entrance extends Service {
  /** Adds the routes of a door and pages that need no key; all before the start. */
  open(doors: readonly Door[], pages: readonly Page[]): void;
  /** Answers one request without a socket. */
  answer(request: Request): Promise<Response>;
  /** Until what it returns is called, the connection of a request may be silent. */
  holdOpen(request: Request): () => void;
  /** The name of the client that sent a request: who has another is another. */
  addressOf(request: Request): string;
  /** True: new requests are refused. */
  isStopping(): boolean;
  /** Where it listens, once started: `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly app: Elysia;
}

export function createEntrance(options: EntranceOptions): Entrance {
  const { ids, log } = options;
  const app = new Elysia({ strictPath: true, normalize: false });
  /** A request whose URL had to be rebuilt, and the one that the socket knows. */
  const rebuilt = new WeakMap<Request, Request>();
  const nameClient = createNameClient(options.trusted_proxies ?? []);
  let server: Bun.Server<undefined> | undefined;
  let isStopping = false;

  const answerRefused = (refusal: Refusal, request: Request) =>
    answerRefusal(refusal, halfOfPath(pathOf(request.url)), chooseRequestId(request, ids));

  return {
    name: "http",
    app,
    open(doors, pages) {
      // It covers only what is registered after it.
      app.onError({ as: "global" }, ({ code, error, request }) => {
        if (code === "NOT_FOUND") return answerRefused(refuse("not_found"), request);
        log.error("a request failed outside of its route", { error });
        return answerRefused(refuse("internal_error"), request);
      });
      for (const { verb, path, answer, spec, half } of doors.flatMap((door) => door.routes)) {
        const detail = documentRoute(spec, half);
        const open = ({ request }: { request: Request }) =>
          isStopping ? answerRefused(refuseStopping(), request) : answer(request);
        app.route(verb, path, open, { parse: "none", detail });
      }
      for (const { path, answer } of pages) {
        const hidden = { parse: "none", detail: { hide: true } } as const;
        app.get(path, ({ request }) => withRequestId(request, answer), hidden);
      }
      app.compile();
    },
    async answer(request) {
      return app.fetch(normalizeRequest(request, rebuilt));
    },
    holdOpen(request) {
      const known = rebuilt.get(request) ?? request;
      server?.timeout(known, 0);
      return () => server?.timeout(known, IDLE_TIMEOUT_S);
    },
    addressOf(request) {
      const peer = server?.requestIP(rebuilt.get(request) ?? request)?.address ?? null;
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
          fetch: (request) => app.fetch(normalizeRequest(request, rebuilt)),
          error: (error) => {
            log.error("a request failed outside of every route", { error });
            return answerRefusal(refuse("internal_error"), "gateway", ids.uuid());
          },
        });
      } catch (failure) {
        throw refuseListening(failure, options);
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
      const host = options.host.includes(":") ? `[${options.host}]` : options.host;
      return `http://${host}:${server.port}`;
    },
  };

  async function withRequestId(request: Request, answer: Page["answer"]): Promise<Response> {
    // Elysia answers HEAD for pages by itself; a wrong method is not found under /v1 only.
    const response = await answer(request);
    response.headers.set("x-request-id", chooseRequestId(request, ids));
    return response;
  }
}

/** Lets what runs end until the deadline, then says so to whoever still waits, and lets go. */
async function stopServer(
  server: Bun.Server<undefined>,
  deadline_ms: number,
  { clock, endRunning }: EntranceOptions,
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
function refuseStopping(): Refusal {
  return refuse("service_unavailable", {
    message: "The service is being stopped: send the request again.",
    headers: { connection: "close" },
  });
}

/** Elysia reads another path in a URL with a short or malformed host: it gets a plain one. */
function normalizeRequest(request: Request, rebuilt: WeakMap<Request, Request>): Request {
  const url = request.url;
  if (url.startsWith("http://") && url.indexOf("/", 7) >= PATH_FROM) return request;
  const normal = new Request(`http://localhost${pathOf(url)}`, request);
  rebuilt.set(normal, request);
  return normal;
}
