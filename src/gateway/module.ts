// Opens the whole gateway on its door: chat, embeddings, search, and the ledger behind them.
import { type FindCaller, KeyRevocations } from "../access/index.ts";
import type { Compute } from "../compute/index.ts";
import type { Database } from "../database/index.ts";
import type { Router } from "../http/index.ts";
import { createTextCount, type ModelRegistry } from "../models/index.ts";
import type { TrustedEgress } from "../net/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Service } from "../platform/service.ts";
import type { Settings } from "../settings/index.ts";
import { createInternalChatClient, type InternalChatClient } from "./chat/internal-client.ts";
import { openChatRoutes } from "./chat/routes.ts";
import { openEmbeddings } from "./embeddings/routes.ts";
import type { InFlight } from "./in-flight.ts";
import type { MeteredStatus } from "./metered/service.ts";
import { RequestLog } from "./request-log/request-log.ts";
import { requestLogStore } from "./request-log/store.ts";
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
  /** A keyed hash, so that a line of the log tells nobody who the end user is. */
  hashUser(text: string): string;
}

/** The gateway for houses of the program: its pipeline and its rights, without its HTTP. */
export interface GatewayInternal {
  chat: InternalChatClient;
  search: InternalSearchClient;
}

export interface Gateway {
  requestLog: RequestLog;
  inside: GatewayInternal;
  /** In the order of their start: in front of the entrance, so that they stop behind it. */
  services: readonly Service[];
  /** Embeddings and search, as they stand now. */
  look(): MeteredStatus[];
  /** Other settings, in force from the next request on. */
  change(settings: Settings): void;
}

export function createGateway(door: Router, options: GatewayOptions): Gateway {
  const { database, egress, compute, clock, ids, log } = options;
  let { settings } = options;
  const store = database.bind(requestLogStore);
  const requestLog = new RequestLog({ store, clock, ids, log });
  const chat = {
    ...options,
    countTexts: createTextCount(compute),
    meter: requestLog.meter("chat"),
    thinking: () => settings.think,
  };
  const keys = new KeyRevocations(options);
  openChatRoutes(door, {
    ...chat,
    keys,
    alias: settings.service.alias,
    status: settings.service.chat_status,
    changelogUrl: () =>
      settings.service.changelog_url || `${settings.server.public_url}/docs/changes`,
  });
  const around = { egress, clock, log, running: options.running };
  const embeddings = openEmbeddings(door, {
    ...around,
    settings: settings.embeddings,
    meter: requestLog.meter("embeddings"),
  });
  const search = openSearch(door, {
    ...around,
    settings: settings.search,
    meter: requestLog.meter("search"),
  });
  const shared = [embeddings, search.service];
  return {
    requestLog,
    inside: { chat: createInternalChatClient(chat), search: search.inside },
    services: [
      ...shared.map(({ service }) => service),
      requestLog.service,
      { name: "keys of streams", start() {}, stop: () => keys.stop() },
    ],
    look: () => shared.map((service) => service.status()),
    change(other) {
      settings = other;
      embeddings.change(other.embeddings);
      search.service.change(other.search);
    },
  };
}
