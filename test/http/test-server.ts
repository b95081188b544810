// A server with test routes, for one caller whose key is "key".
import type { TSchema } from "@sinclair/typebox";
import type { Caller } from "../../src/access/index.ts";
import { createRouter, type Router, type RouterOptions } from "../../src/http/router.ts";
import { HttpServer, type HttpServerOptions, type StaticPage } from "../../src/http/server.ts";
import { apiError } from "../../src/platform/errors.ts";
import { createLog } from "../../src/platform/log.ts";
import { createManualClock, type ManualClock } from "../support/clock.ts";
import { createSeededIds } from "../support/ids.ts";

export const caller: Caller = {
  key_id: "01920000-0000-7000-8000-000000000000",
  account_id: "01920000-0000-7000-8000-000000000001",
  kind: "ordinary",
  scopes: [],
  models: null,
  max_output_tokens: null,
};

export interface TestServer {
  server: HttpServer;
  router: Router;
  clock: ManualClock;
  /** Every line of the log, parsed. */
  lines: Record<string, unknown>[];
  /** The names passed to the limiter. */
  taken: string[];
  ask(method: string, path: string, init?: RequestInit): Promise<Response>;
}

/** A server on a free port that any page may ask and that no proxy stands before. */
export const PLAIN_SERVER = {
  host: "127.0.0.1",
  port: 0,
  trusted_proxies: [],
  origins: { isLocalOnly: false, publicUrl: () => "", corsOrigins: () => [] },
  endRequests() {},
};

/** `open` adds the routes; options of the router may be replaced. */
export function createTestServer(
  open: (router: Router) => void,
  options: Partial<RouterOptions> = {},
  pages: readonly StaticPage[] = [],
  at: Partial<HttpServerOptions> = {},
): TestServer {
  const clock = createManualClock();
  const ids = createSeededIds();
  const lines: TestServer["lines"] = [];
  const taken: string[] = [];
  const log = createLog(clock, (line) => void lines.push(JSON.parse(line)), false);
  const server = new HttpServer({ ...PLAIN_SERVER, clock, ids, log, ...at });
  const routerOptions = {
    observer: null,
    surface: "gateway" as const,
    isOpen: () => true,
    isEnabled: () => true,
    enforcesScope: () => true,
    limitAddress() {},
    alias: "svc",
    async identify(authorization: string | null) {
      if (authorization !== "Bearer key") throw apiError("invalid_api_key");
      return caller;
    },
    limiter: { take: (name: string) => void taken.push(name) },
    clock,
    ids,
    log,
    holdOpen: server.holdOpen,
    ...options,
  };
  const router = createRouter(routerOptions as RouterOptions);
  open(router);
  server.open([router], pages);
  return {
    server,
    router,
    clock,
    lines,
    taken,
    ask(method, path, init = {}) {
      const headers = new Headers(init.headers);
      if (!headers.has("authorization")) headers.set("authorization", "Bearer key");
      return server.answer(new Request(`http://localhost${path}`, { ...init, method, headers }));
    },
  };
}

/** The documentation of a route. */
export function describeRoute<B extends TSchema>(body?: B) {
  return { summary: "A route of the tests", replies: {}, refusals: [], body };
}

/** `undefined` if there is no such field. */
export type RefusalParts = [status: number, code: string, param: string | null | undefined];

export async function readRefusal(response: Response): Promise<RefusalParts> {
  const { error } = (await response.json()) as { error: { code: string; param?: string | null } };
  return [response.status, error.code, error.param];
}
