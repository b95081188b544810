// The HTTP server: checks a request's origin, lets Elysia find its route, and stops gracefully.
import { Elysia } from "elysia";
import { isLoopback, sharePort } from "../net/index.ts";
import { type Clock, settlesWithin } from "../platform/clock.ts";
import { ApiError, apiError } from "../platform/errors.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Service } from "../platform/service.ts";
import { createNameClient, type NameClient, OpenRequests } from "./clients.ts";
import { respondError, surfaceOfPath } from "./envelope.ts";
import { IDLE_TIMEOUT_S, type ListenAddress, listen, readListenAddress } from "./listener.ts";
import { documentRoute } from "./openapi/document.ts";
import { OPERATOR_PREFIX, type OperatorRoute } from "./operator-router.ts";
import { type OriginRules, Origins } from "./origins.ts";
import { pathOf } from "./parameters.ts";
import { chooseRequestId } from "./request-id.ts";
import type { Router } from "./router.ts";
import { closeAfterReply, hasBoundedBody, sendAsLast } from "./unread-body.ts";

/** Time for the last frames of a stop to reach their callers. */
const GRACE_MS = 1_000;
/** Minimum length before the path: Elysia misreads a URL with a shorter host. */
const PATH_FROM = 11;

export interface StaticPage {
  path: string;
  /** A thrown ApiError is answered in the gateway's envelope. */
  answer(request: Request): Response | Promise<Response>;
}

export interface HttpServerOptions {
  host: string;
  port: number;
  trusted_proxies: readonly string[];
  origins: OriginRules;
  /** "HOST:PORT" of the operator API; "" serves it beside the others, to this machine only. */
  operatorListen?: string;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** Addresses of the server that this one takes over from; see `listen`. */
  shared?: readonly ListenAddress[];
  /** Ends what still runs at the deadline of a stop, with a message to its callers. */
  endRequests(): void;
}

type AnswerRequest = (request: Request) => Response | Promise<Response>;

export class HttpServer implements Service {
  readonly name = "http";
  readonly app = new Elysia({ strictPath: true, normalize: false });
  /** Requests under way with a valid key; their connections are not closed. */
  readonly callers: OpenRequests;
  /** Requests already refused whose sender still sends the body. */
  readonly #refused: OpenRequests;
  readonly #options: HttpServerOptions;
  readonly #origins: Origins;
  readonly #nameClient: NameClient;
  /** Requests with a rebuilt URL, mapped to the originals that the socket knows. */
  readonly #rebuilt = new WeakMap<Request, Request>();
  readonly #pages: Record<string, AnswerRequest> = {};
  #server: Bun.Server<undefined> | undefined;
  #operatorServer: Bun.Server<undefined> | undefined;
  /** Requests that arrived on the operator API's own address. */
  readonly #operatorRequests = new WeakSet<Request>();
  #isStopping = false;
  /** Each connection is closed by its next reply, so that clients connect to the next server. */
  isLeaving = false;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#origins = new Origins(options.origins);
    this.#nameClient = createNameClient(options.trusted_proxies);
    const create = () =>
      new OpenRequests(
        (request) => this.#findSent(request),
        (request) => this.#server?.requestIP(request) ?? null,
      );
    this.callers = create();
    this.#refused = create();
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  get url(): string {
    if (!this.#server) throw new Error("the server has not been started");
    const { host } = this.#options;
    return `http://${host.includes(":") ? `[${host}]` : host}:${this.#server.port}`;
  }

  /** Addresses of the APIs and of the operators, with the ports that the system chose. */
  get addresses(): ListenAddress[] {
    const { host, operatorListen = "" } = this.#options;
    const main = this.#server ? [{ host, port: this.#server.port! }] : [];
    const operator = readListenAddress(operatorListen);
    if (!operator || !this.#operatorServer) return main;
    return [...main, { host: operator.host, port: this.#operatorServer.port! }];
  }

  /** Lets a server that takes over listen on the same addresses; false where that is impossible. */
  share(): boolean {
    return this.addresses.every(({ port }) => sharePort(port));
  }

  get pendingRequests(): number {
    return (this.#server?.pendingRequests ?? 0) + (this.#operatorServer?.pendingRequests ?? 0);
  }

  /** Adds the routes of the routers, and pages that need no key; all before the start. */
  open(
    routers: readonly Router[],
    pages: readonly StaticPage[],
    operatorRoutes: readonly OperatorRoute[] = [],
  ): void {
    const { ids, log } = this.#options;
    // Elysia applies this only to routes that are registered after it.
    this.app.onError({ as: "global" }, ({ code, error, request }) => {
      if (code === "NOT_FOUND") return this.#refuse(apiError("not_found"), request);
      if (error instanceof ApiError) return this.#refuse(error, request);
      log.error("http: a request failed outside of its route", { error });
      return this.#refuse(apiError("internal_error"), request);
    });
    for (const { method, path, answer, spec, surface } of routers.flatMap((one) => one.routes)) {
      const detail = documentRoute(spec, surface);
      const handle = ({ request }: { request: Request }) =>
        this.#isStopping ? this.#refuse(stoppingError(), request) : answer(request);
      this.app.route(method, path, handle, { parse: "none", detail });
    }
    for (const { method, path, answer } of operatorRoutes) {
      const handle = ({ request }: { request: Request }) => {
        if (!this.#mayReachOperator(request)) return this.#refuse(apiError("not_found"), request);
        return this.#isStopping ? this.#refuse(stoppingError(), request) : answer(request);
      };
      this.app.route(method, path, handle, { parse: "none", detail: { hide: true } });
    }
    for (const { path, answer } of pages) {
      this.#pages[path] = (request) => this.#take(request, this.#route);
      const hidden = { parse: "none", detail: { hide: true } } as const;
      this.app.get(path, ({ request }) => withRequestId(request, answer, ids), hidden);
    }
    this.app.compile();
  }

  /** Answers one request without a socket. */
  async answer(request: Request): Promise<Response> {
    return this.#take(request, this.#route);
  }

  /** Lets the connection of a request be silent until the returned function is called. */
  holdOpen(request: Request): () => void {
    const sent = this.#findSent(request);
    const server = this.#serverOf(sent);
    server?.timeout(sent, 0);
    return () => server?.timeout(sent, IDLE_TIMEOUT_S);
  }

  listClients() {
    return { served: this.callers.list(), refused: this.#refused.list() };
  }

  addressOf(request: Request): string {
    const sent = this.#findSent(request);
    const peer = this.#serverOf(sent)?.requestIP(sent)?.address ?? null;
    return this.#nameClient(peer, request.headers.get("x-forwarded-for"));
  }

  start(): void {
    const { ids, log, operatorListen = "", shared = [] } = this.#options;
    const operatorAddress = readListenAddress(operatorListen);
    const answerUnknown: AnswerRequest = (sent) => this.#take(sent, this.#refuseUnknown);
    // A proxy that forwards only one prefix must not reach other pages by dots in the path.
    const routeBelow = (prefix: string) => (sent: Request) =>
      pathOf(sent.url).startsWith(prefix) ? this.#take(sent, this.#route) : answerUnknown(sent);
    const error = (failure: unknown) => {
      log.error("http: a request failed outside of every route", { error: failure });
      return respondError(apiError("internal_error"), "gateway", ids.uuid());
    };
    const operators = { [`${OPERATOR_PREFIX}*`]: routeBelow(OPERATOR_PREFIX) };
    const routes = { "/v1/*": routeBelow("/v1/"), ...this.#pages };
    const served = operatorAddress === null ? { ...routes, ...operators } : routes;
    const answers = { routes: served, fetch: answerUnknown, error };
    this.#server = listen(this.#options, answers, { shared: shared.slice(0, 1) });
    if (operatorAddress === null) return;
    const route = (sent: Request) => {
      this.#operatorRequests.add(sent);
      return routeBelow(OPERATOR_PREFIX)(sent);
    };
    try {
      const pages = {
        routes: { [`${OPERATOR_PREFIX}*`]: route },
        fetch: answerUnknown,
        error,
      };
      this.#operatorServer = listen(operatorAddress, pages, {
        settings: OPERATOR_SETTINGS,
        shared: shared.slice(1),
      });
    } catch (failure) {
      this.#server.stop(true);
      throw failure;
    }
  }

  /** Lets requests end until the deadline, then ends them with a message, then cuts them off. */
  async stop(deadlineMs: number): Promise<void> {
    if (!this.#server) return;
    this.#isStopping = true;
    const { clock, endRequests } = this.#options;
    // The server accepts no more connections; open ones close when idle or after their reply.
    const servers = [this.#server, ...(this.#operatorServer ? [this.#operatorServer] : [])];
    const closed = Promise.all(servers.map((one) => one.stop())).then(() => {});
    if (!(await settlesWithin(clock, deadlineMs, closed))) {
      endRequests();
      await settlesWithin(clock, Math.min(deadlineMs, GRACE_MS), closed);
    }
    await Promise.all(servers.map((one) => one.stop(true)));
  }

  #take(sent: Request, next: AnswerRequest): Response | Promise<Response> {
    const request = this.#normalize(sent);
    const refusal = this.#origins.check(request);
    const reply = refusal ? this.#refuse(refusal, request) : next(request);
    if (hasBoundedBody(request)) return this.isLeaving ? sendAsLast(reply) : reply;
    return closeAfterReply(request, reply, this.#options.clock, this.#refused);
  }

  readonly #route: AnswerRequest = (request) => {
    const origin = this.#origins.match(request);
    return origin === null ? this.app.fetch(request) : this.#routeCrossOrigin(request, origin);
  };

  readonly #refuseUnknown: AnswerRequest = (request) =>
    this.#refuse(apiError("not_found"), request);

  async #routeCrossOrigin(request: Request, origin: string): Promise<Response> {
    const preflight = this.#origins.answerPreflight(request, origin);
    if (!preflight) return this.#origins.expose(await this.app.fetch(request), origin);
    preflight.headers.set("x-request-id", chooseRequestId(request, this.#options.ids));
    return preflight;
  }

  /** Without an address of its own, the API is for this machine and not for a proxy's clients. */
  #mayReachOperator(request: Request): boolean {
    const sent = this.#findSent(request);
    if (this.#operatorServer) return this.#operatorRequests.has(sent);
    if (FORWARDED.some((name) => request.headers.has(name))) return false;
    // Requests without a socket come from the program itself.
    const peer = this.#server?.requestIP(sent)?.address;
    return peer === undefined || isLoopback(peer);
  }

  #refuse(error: ApiError, request: Request): Response {
    const id = chooseRequestId(request, this.#options.ids);
    return respondError(error, surfaceOfPath(pathOf(request.url)), id);
  }

  /** Gives a URL with a short or malformed host a plain one, as Elysia would misread its path. */
  #normalize(request: Request): Request {
    const url = request.url;
    if (url.startsWith("http://") && url.indexOf("/", 7) >= PATH_FROM) return request;
    const normal = new Request(`http://localhost${pathOf(url)}`, request);
    this.#rebuilt.set(normal, request);
    return normal;
  }

  #serverOf(sent: Request): Bun.Server<undefined> | undefined {
    return this.#operatorRequests.has(sent) ? this.#operatorServer : this.#server;
  }

  #findSent(request: Request): Request {
    return this.#rebuilt.get(request) ?? request;
  }
}

const OPERATOR_SETTINGS = { host: "operator.listen", port: "operator.listen" };
/** Headers by which proxies name themselves, the client, or the address that it asked. */
const FORWARDED = [
  ...["forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-host"],
  ...["x-forwarded-proto", "x-forwarded-port", "x-forwarded-server"],
];

async function withRequestId(request: Request, answer: StaticPage["answer"], ids: Ids) {
  // Elysia answers HEAD for pages; only paths under /v1 refuse a wrong method.
  const response = await answer(request);
  response.headers.set("x-request-id", chooseRequestId(request, ids));
  return response;
}

/** Refuses a request that arrived just before the stop; a retry finds the next server. */
function stoppingError(): ApiError {
  return apiError("service_unavailable", {
    message: "The service is being stopped: send the request again.",
    headers: { connection: "close" },
  });
}
