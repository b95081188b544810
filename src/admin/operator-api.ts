// The operator API: a route for each operation.
import { hashSecret, RateLimiter } from "../access/index.ts";
import { createOperatorRoutes, type HttpServer, type OperatorRoute } from "../http/index.ts";
import type { Clock } from "../platform/clock.ts";
import { apiError } from "../platform/errors.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Settings } from "../settings/index.ts";
import type { Admin } from "./admin.ts";
import { AdminError } from "./errors.ts";
import { type AnyOperation, perform } from "./operation.ts";
import { OPERATIONS } from "./operations/index.ts";

export interface OperatorApiOptions {
  settings(): Settings;
  /** Follows the settings in force. */
  admin(): Admin;
  server: Pick<HttpServer, "addressOf" | "holdOpen">;
  clock: Clock;
  ids: Ids;
  log: Log;
  version: string;
}

const WINDOW_MS = 60_000;
/** Maximum names that are counted: operators and addresses of failed attempts. */
const NAMES_MAX = 100_000;

const CODES = {
  invalid: "invalid_request",
  "not found": "not_found",
  conflict: "conflict",
} as const;

export interface OperatorApi {
  routes: OperatorRoute[];
  limiter: RateLimiter;
  change(settings: Settings): void;
}

export function createOperatorApi(options: OperatorApiOptions): OperatorApi {
  const { settings, admin, server, clock } = options;
  const limiter = new RateLimiter(clock, {
    requests_max: settings().operator.requests_per_minute,
    windowMs: WINDOW_MS,
    closingMs: 0,
    namesMax: NAMES_MAX,
  });
  const routes = createOperatorRoutes(OPERATIONS, {
    ...options,
    observer: null,
    limiter,
    isEnabled: () => settings().operator.enabled,
    identify: (token) => admin().operators.identify(hashSecret(token)),
    addressOf: (request) => server.addressOf(request),
    holdOpen: (request) => server.holdOpen(request),
    async handle(spec, input, { name }) {
      const actor = { kind: "operator", name, via: "operator API" } as const;
      try {
        return await perform(admin(), spec as AnyOperation, input, actor);
      } catch (failure) {
        if (!(failure instanceof AdminError)) throw failure;
        throw apiError(CODES[failure.kind], { message: failure.message });
      }
    },
  });
  return { routes, limiter, change: (other) => limiter.change(other.operator.requests_per_minute) };
}
