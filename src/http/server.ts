// The HTTP server: checks a request's origin, lets Elysia find its route, and stops gracefully.
import { Elysia } from "elysia";
import { isLoopback } from "../net/index.ts";
import { type Clock, settlesWithin } from "../platform/clock.ts";
import { ApiError, apiError } from "../platform/errors.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Service } from "../platform/service.ts";
import type { ServerCertificate } from "../settings/index.ts";
import { createAnswers } from "./answers.ts";
import { createNameClient, isForwarded, type NameClient, OpenRequests } from "./clients.ts";
import type { ApiDialect } from "./dialects.ts";
import { Endpoint } from "./endpoint.ts";
import { respondError, surfaceOfPath } from "./envelope.ts";
import { findShared, IDLE_TIMEOUT_S, type ListenAddress, readListenAddress } from "./listener.ts";
import { OPERATOR_PREFIXES, type OperatorRoute } from "./operator-router.ts";
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
  /** GET and HEAD without it. */
  method?: "DELETE";
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
  /** For all addresses; without one they speak HTTP in clear text. */
  certificate?: ServerCertificate | null;
  /** Addresses of the server that this one takes over from; see `listen`. */
  shared?: readonly ListenAddress[];
  /** Several processes listen on the addresses together. */
  isCommon?: boolean;
  /** Ends what still runs at the deadline of a stop, with a message to its callers. */
  endRequests(): void;
}

type ElysiaApp = Pick<Elysia, "fetch">;
type IsLeaving = () => boolean;
type AnswerRequest = (request: Request) => Response | Promise<Response>;

export class HttpServer implements Service {
  readonly name = "http";
  readonly #app = createApp();
  /** Made at the first request of an operator: most servers have none, and starts are faster. */
  #operatorApp: ElysiaApp | null = null;
  #listOperatorRoutes: () => readonly OperatorRoute[] = () => [];
  /** Requests under way with a valid key; their connections are not closed. */
  readonly callers: OpenRequests;
  /** Requests already refused whose sender still sends the body. */
  readonly #refused: OpenRequests;
  readonly #options: HttpServerOptions;
  readonly #origins: Origins;
  readonly #nameClient: NameClient;
  /** Requests made of others, mapped to the originals that the socket knows. */
  readonly #rebuilt = new WeakMap<Request, Request>();
  readonly #pages: string[] = [];
  #endpoint: Endpoint | undefined;
  #operatorEndpoint: Endpoint | undefined;
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
        (request) => this.#endpoint?.server.requestIP(request) ?? null,
      );
    this.callers = create();
    this.#refused = create();
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  get url(): string {
    if (!this.#endpoint) throw new Error("the server has not been started");
    return this.#endpoint.url;
  }

  /** Addresses of the APIs and of the operators, with the ports that the system chose. */
  get addresses(): ListenAddress[] {
    return this.#listEndpoints().map(({ address }) => address);
  }

  /** Lets a server that takes over listen on the same addresses; false where that is impossible. */
  share(): boolean {
    return this.#listEndpoints().every((endpoint) => endpoint.share());
  }

  get pendingRequests(): number {
    return this.#listEndpoints().reduce((sum, { pendingRequests }) => sum + pendingRequests, 0);
  }

  /** Adds the routes of the routers, and pages that need no key; all before the start. */
  open(
    routers: readonly Router[],
    pages: readonly StaticPage[],
    listOperatorRoutes: () => readonly OperatorRoute[] = () => [],
  ): void {
    this.#listOperatorRoutes = listOperatorRoutes;
    for (const { method, path, spec, answer } of routers.flatMap((one) => one.routes)) {
      const handle = ({ request }: { request: Request }) =>
        this.#isStopping ? this.#refuse(stoppingError(), request, spec.dialect) : answer(request);
      this.#app.route(method, path, handle);
    }
    for (const { path, method = "GET", answer } of pages) {
      this.#pages.push(path);
      this.#app.route(method, path, ({ request }: { request: Request }) =>
        this.#answerPage(request, answer),
      );
    }
    this.#compile(this.#app);
  }

  /** Answers what no route has. Routes before it have no hook, which makes the start faster. */
  #compile(app: Elysia): Elysia {
    app.onError({ as: "global" }, ({ request }) => this.#refuse(apiError("not_found"), request));
    return app.compile();
  }

  async #answerPage(request: Request, answer: StaticPage["answer"]): Promise<Response> {
    try {
      // Elysia answers HEAD for pages; only paths under /v1 refuse a wrong method.
      const response = await answer(request);
      response.headers.set("x-request-id", chooseRequestId(request, this.#options.ids));
      return response;
    } catch (error) {
      if (error instanceof ApiError) return this.#refuse(error, request);
      this.#options.log.error("http: a page failed", { error });
      return this.#refuse(apiError("internal_error"), request);
    }
  }

  #createOperatorApp(): ElysiaApp {
    const app = createApp();
    for (const { method, path, answer } of this.#listOperatorRoutes()) {
      app.route(method, path, ({ request }: { request: Request }) => {
        if (!this.#mayReachOperator(request)) return this.#refuse(apiError("not_found"), request);
        return this.#isStopping ? this.#refuse(stoppingError(), request) : answer(request);
      });
    }
    return this.#compile(app);
  }

  #findRoute(request: Request): Response | Promise<Response> {
    const path = pathOf(request.url);
    if (!OPERATOR_PREFIXES.some((prefix) => path.startsWith(prefix))) {
      return this.#app.fetch(request);
    }
    this.#operatorApp ??= this.#createOperatorApp();
    return this.#operatorApp.fetch(request);
  }

  /** Answers one request without a socket. */
  async answer(request: Request): Promise<Response> {
    return this.#take(request, true, () => false);
  }

  /** Lets the connection of a request be silent until the returned function is called. */
  holdOpen(request: Request): () => void {
    const sent = this.#findSent(request);
    this.#endpoint?.server.timeout(sent, 0);
    return () => this.#endpoint?.server.timeout(sent, IDLE_TIMEOUT_S);
  }

  /** Gives a request that the program makes for another one the connection of that. */
  derive(request: Request, from: Request): void {
    this.#rebuilt.set(request, this.#findSent(from));
  }

  listClients() {
    return { served: this.callers.list(), refused: this.#refused.list() };
  }

  addressOf(request: Request): string {
    const sent = this.#findSent(request);
    const peer = this.#endpoint?.server.requestIP(sent)?.address ?? null;
    return this.#nameClient(peer, request.headers.get("x-forwarded-for"));
  }

  start(): void {
    const { shared = [] } = this.#options;
    const open = [() => this.#openMain(), () => this.#openOperator()];
    // A shared port attracts connections, which a failure of the other port would reset.
    if (findShared(shared.slice(0, 1), this.#options)) open.reverse();
    try {
      for (const openNext of open) openNext();
    } catch (failure) {
      for (const endpoint of this.#listEndpoints()) void endpoint.stop(true);
      throw failure;
    }
  }

  /** Returns false where the one before stays in force, at least for now; the log tells why. */
  changeCertificate(certificate: ServerCertificate | null): boolean {
    const served = this.#listEndpoints().map((one) => one.changeCertificate(certificate));
    return served.every((isServed) => isServed);
  }

  /** Lets requests end until the deadline, then ends them with a message, then cuts them off. */
  async stop(deadlineMs: number): Promise<void> {
    if (!this.#endpoint) return;
    this.#isStopping = true;
    const { clock, endRequests } = this.#options;
    // The server accepts no more connections; open ones close when idle or after their reply.
    const endpoints = this.#listEndpoints();
    const closed = Promise.all(endpoints.map((one) => one.stop())).then(() => {});
    if (!(await settlesWithin(clock, deadlineMs, closed))) {
      endRequests();
      await settlesWithin(clock, Math.min(deadlineMs, GRACE_MS), closed);
    }
    await Promise.all(endpoints.map((one) => one.stop(true)));
  }

  #openMain(): void {
    const { clock, ids, log, certificate = null, shared = [], isCommon } = this.#options;
    const isOperatorApart = readListenAddress(this.#options.operatorListen ?? "") !== null;
    this.#endpoint = new Endpoint({
      ...{ clock, log, certificate, isCommon },
      address: this.#options,
      shared: shared.slice(0, 1),
      createAnswers: (isLeaving) =>
        createAnswers({
          prefixes: isOperatorApart ? ["/v1/"] : ["/v1/", ...OPERATOR_PREFIXES],
          pages: this.#pages,
          take: (sent, isKnown) => this.#take(sent, isKnown, isLeaving),
          ...{ ids, log },
        }),
    });
  }

  /** Opens the operator API's own address, if it has one. */
  #openOperator(): void {
    const { clock, ids, log, certificate = null, shared = [], isCommon } = this.#options;
    const address = readListenAddress(this.#options.operatorListen ?? "");
    if (address === null) return;
    this.#operatorEndpoint = new Endpoint({
      ...{ clock, log, certificate, address, isCommon },
      shared: shared.slice(1),
      settings: OPERATOR_SETTINGS,
      createAnswers: (isLeaving) =>
        createAnswers({
          ...{ prefixes: OPERATOR_PREFIXES, ids, log },
          // The console links to what an error code means.
          pages: this.#pages.filter((path) => path.startsWith("/docs")),
          take: (sent, isKnown) => {
            this.#operatorRequests.add(sent);
            return this.#take(sent, isKnown, isLeaving);
          },
        }),
    });
  }

  #take(sent: Request, isKnown: boolean, isLeaving: IsLeaving): Response | Promise<Response> {
    const request = this.#normalize(sent);
    const refusal = this.#origins.check(request);
    const answer = isKnown ? this.#route : this.#refuseUnknown;
    const reply = refusal ? this.#refuse(refusal, request) : answer(request);
    if (hasBoundedBody(request)) {
      return this.isLeaving || isLeaving() ? sendAsLast(reply) : reply;
    }
    return closeAfterReply(request, reply, this.#options.clock, this.#refused);
  }

  readonly #route: AnswerRequest = (request) => {
    const origin = this.#origins.match(request);
    return origin === null ? this.#findRoute(request) : this.#routeCrossOrigin(request, origin);
  };

  readonly #refuseUnknown: AnswerRequest = (request) =>
    this.#refuse(apiError("not_found"), request);

  async #routeCrossOrigin(request: Request, origin: string): Promise<Response> {
    const preflight = this.#origins.answerPreflight(request, origin);
    if (!preflight) return this.#origins.expose(await this.#findRoute(request), origin);
    preflight.headers.set("x-request-id", chooseRequestId(request, this.#options.ids));
    return preflight;
  }

  /** Without an address of its own, the API is for this machine and not for a proxy's clients. */
  #mayReachOperator(request: Request): boolean {
    const sent = this.#findSent(request);
    if (this.#operatorEndpoint) return this.#operatorRequests.has(sent);
    if (isForwarded(request.headers)) return false;
    // Requests without a socket come from the program itself.
    const peer = this.#endpoint?.server.requestIP(sent)?.address;
    return peer === undefined || isLoopback(peer);
  }

  #refuse(error: ApiError, request: Request, dialect?: ApiDialect): Response {
    const id = chooseRequestId(request, this.#options.ids);
    return respondError(error, surfaceOfPath(pathOf(request.url)), id, dialect);
  }

  /** Gives a URL with a short or malformed host a plain one, as Elysia would misread its path. */
  #normalize(request: Request): Request {
    const url = request.url;
    const from = url.startsWith("https://") ? 8 : url.startsWith("http://") ? 7 : -1;
    if (from >= 0 && url.indexOf("/", from) >= PATH_FROM) return request;
    const scheme = from === 8 ? "https" : "http";
    const normal = new Request(`${scheme}://localhost${pathOf(url)}`, request);
    this.#rebuilt.set(normal, request);
    return normal;
  }

  #listEndpoints(): Endpoint[] {
    return [this.#endpoint, this.#operatorEndpoint].filter((one) => one !== undefined);
  }

  #findSent(request: Request): Request {
    return this.#rebuilt.get(request) ?? request;
  }
}

const createApp = () => new Elysia({ aot: true, strictPath: true, normalize: false });

const OPERATOR_SETTINGS = { host: "operator.listen", port: "operator.listen" };

/** Refuses a request that arrived just before the stop; a retry finds the next server. */
function stoppingError(): ApiError {
  return apiError("service_unavailable", {
    message: "The service is being stopped: send the request again.",
    headers: { connection: "close" },
  });
}
