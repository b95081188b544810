// Creates the routers of both surfaces with their rate limits.
import { type Access, RateLimiter } from "../access/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Settings } from "../settings/index.ts";
import type { RequestObserver } from "./response.ts";
import { createRouter, type Router } from "./router.ts";
import type { HttpServer } from "./server.ts";

export interface RoutersOptions {
  settings: Settings;
  access: Pick<Access, "identify" | "identifyKey">;
  server: Pick<HttpServer, "addressOf" | "holdOpen" | "callers">;
  clock: Clock;
  ids: Ids;
  log: Log;
  observer: RequestObserver | null;
}

export interface Routers {
  gateway: Router;
  agents: Router;
  limiters: Readonly<Record<"accounts" | "keys" | "addresses", RateLimiter>>;
  change(settings: Settings): void;
}

const WINDOW_MS = 60_000;
/** gateway.limits.after_exceeding; the agents' window slides. */
const CLOSING_MS = 60_000;
/** Maximum addresses kept: strangers can use as many as they like. */
const ADDRESSES_MAX = 100_000;

export function createRouters(options: RoutersOptions): Routers {
  const { server, clock } = options;
  let { settings } = options;
  const limit = (requests_max: number, rule: { closingMs: number; namesMax?: number }) =>
    new RateLimiter(clock, { requests_max, windowMs: WINDOW_MS, ...rule });
  const { requests_per_minute, address_requests_per_minute } = settings.limits;
  const accounts: RateLimiter = limit(requests_per_minute, { closingMs: CLOSING_MS });
  // agents.limits.request_rate
  const keys = limit(requests_per_minute, { closingMs: 0 });
  const addresses = limit(address_requests_per_minute, { closingMs: 0, namesMax: ADDRESSES_MAX });

  const { alias } = settings.service;
  const { ids, log, observer } = options;
  const { identify, identifyKey } = options.access;
  const { callers } = server;
  const holdOpen = (request: Request) => server.holdOpen(request);
  const common = { alias, identify, identifyKey, clock, ids, log, holdOpen, callers, observer };
  return {
    limiters: { accounts, keys, addresses },
    gateway: createRouter({ surface: "gateway", limiter: accounts, ...common }),
    agents: createRouter({
      surface: "agents",
      limiter: keys,
      isOpen: () => settings.agents.open,
      isEnabled: (feature) => settings.agents[feature],
      enforcesScope: () => settings.agents.enforce_scope,
      limitAddress: (request) => addresses.take(server.addressOf(request)),
      ...common,
    }),
    change(other) {
      settings = other;
      accounts.change(other.limits.requests_per_minute);
      keys.change(other.limits.requests_per_minute);
      addresses.change(other.limits.address_requests_per_minute);
    },
  };
}
