// Wires the gateway: chat, embeddings, search and their request log.
import { type FindCaller, KeyRevocations, type RateLimiter } from "../access/index.ts";
import type { Process } from "../cluster/index.ts";
import type { Compute } from "../compute/index.ts";
import type { Database } from "../database/index.ts";
import type { Router } from "../http/index.ts";
import { createTextCount, type ModelRegistry } from "../models/index.ts";
import type { TrustedEgress } from "../net/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Service } from "../platform/service.ts";
import type { Tracer } from "../platform/spans.ts";
import type { Settings } from "../settings/index.ts";
import { CallerBudgets } from "./budgets/caller-budgets.ts";
import { openUsageRoute } from "./budgets/routes.ts";
import { ChatExecution } from "./chat/execution.ts";
import { InternalChatClient } from "./chat/internal-client.ts";
import { openChatRoutes } from "./chat/routes.ts";
import { openEmbeddings } from "./embeddings/routes.ts";
import type { InFlight } from "./in-flight.ts";
import { openMessagesRoutes } from "./messages/routes.ts";
import { CapacityGroup } from "./metered/capacity-group.ts";
import type { MeteredStatus } from "./metered/service.ts";
import { RequestLog } from "./request-log/request-log.ts";
import { requestLogStore } from "./request-log/store/index.ts";
import { openResponsesRoute } from "./responses/routes.ts";
import type { InternalSearchClient } from "./search/internal-client.ts";
import { openSearch } from "./search/routes.ts";

export interface GatewayOptions {
  settings: Settings;
  registry: ModelRegistry;
  running: InFlight;
  findCaller: FindCaller;
  database: Database;
  egress: TrustedEgress;
  compute: Compute;
  clock: Clock;
  ids: Ids;
  log: Log;
  tracer?: Tracer | null;
  hashUser(text: string): string;
  /** A process before this one still ends its requests. */
  predecessor?: object | null;
  /** Set where other processes serve the same accounts. */
  shared?: Pick<Process, "epoch" | "join"> | null;
}

export interface GatewayInternal {
  chat: InternalChatClient;
  search: InternalSearchClient;
}

export interface Gateway {
  requestLog: RequestLog;
  internal: GatewayInternal;
  /** Services in the order of their start; they stop after the server. */
  services: readonly Service[];
  limiters: Readonly<Record<string, RateLimiter>>;
  capacities: CapacityGroup;
  listStatuses(): MeteredStatus[];
  /** Counts the open chat streams of a key. */
  countStreams(key_id: string): number;
  change(settings: Settings): void;
  /** Continues alone: the process before, which served until that time, has ended. */
  inherit(until: number): Promise<void>;
}

export function createGateway(router: Router, options: GatewayOptions): Gateway {
  const { database, egress, compute, clock, ids, log } = options;
  let { settings } = options;
  const store = database.bind(requestLogStore);
  const requestLog = new RequestLog({ store, clock, ids, log });
  const budgets = new CallerBudgets({
    ...options,
    zone: settings.service.zone,
    hasHeaders: () => settings.service.ratelimit_headers,
    currency: () => settings.service.currency,
  });
  openUsageRoute(router, budgets);
  const countTexts = createTextCount(compute);
  const execution = new ChatExecution({
    ...options,
    budgets,
    countTexts,
    thinkSettings: () => settings.think,
  });
  const chat = { ...options, meter: requestLog.meter("chat", options.tracer) };
  const keys = new KeyRevocations(options);
  const chatRoutes = {
    ...{ ...chat, budgets, keys, alias: settings.service.alias },
    changelogUrl: () =>
      settings.service.changelog_url || `${settings.server.public_url}/docs/changes`,
  };
  openChatRoutes(router, execution, { ...chatRoutes, status: settings.service.chat_status });
  const isOpen = () => settings.gateway.responses;
  openResponsesRoute(router, execution, { ...chatRoutes, isOpen });
  openMessagesRoutes(router, execution, {
    ...{ ...chatRoutes, countTexts },
    isOpen: () => settings.gateway.messages,
  });
  const shared = { budgets, egress, clock, log, running: options.running };
  const embeddings = openEmbeddings(router, {
    ...shared,
    settings: settings.embeddings,
    meter: requestLog.meter("embeddings"),
  });
  const search = openSearch(router, {
    ...shared,
    settings: settings.search,
    meter: requestLog.meter("search"),
  });
  const services = [embeddings, search.service];
  return {
    requestLog,
    internal: { chat: new InternalChatClient(execution, chat), search: search.internal },
    services: [
      budgets.service,
      ...services.map(({ service }) => service),
      requestLog.service,
      { name: "keys of streams", start() {}, stop: () => keys.stop() },
    ],
    capacities: new CapacityGroup({
      embeddings: embeddings.capacity,
      search: search.service.capacity,
    }),
    limiters: { embeddings: embeddings.quota, search: search.service.quota },
    inherit: (until) => budgets.inherit(until),
    countStreams: (key_id) => keys.count(key_id),
    listStatuses: () => services.map((service) => service.status()),
    change(other) {
      settings = other;
      embeddings.change(other.embeddings);
      search.service.change(other.search);
    },
  };
}
