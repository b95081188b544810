// The gateway without HTTP, on a manual clock: its modules, a key, and the request log.
import { buildAccess, type Caller } from "../../../src/access/index.ts";
import { type Admin, buildAdmin } from "../../../src/admin/index.ts";
import type { KeyRequest } from "../../../src/admin/keys.ts";
import {
  createGateway,
  type GatewayInternal,
  InFlight,
  type InternalCaller,
  type InternalChatRequest,
} from "../../../src/gateway/index.ts";
import type { LogEntry } from "../../../src/gateway/request-log/entry.ts";
import { createRouter } from "../../../src/http/router.ts";
import { buildModels } from "../../../src/models/index.ts";
import { createTrustedEgress } from "../../../src/net/index.ts";
import { createLog } from "../../../src/platform/log.ts";
import { readSettings } from "../../../src/settings/index.ts";
import { keyRequest } from "../../admin/fixture.ts";
import { ALONE } from "../../support/alone.ts";
import { createManualClock, type ManualClock } from "../../support/clock.ts";
import { inlineCompute } from "../../support/compute.ts";
import { openTestDatabase } from "../../support/database.ts";
import { createSeededIds } from "../../support/ids.ts";
import { NO_INSTALLATION } from "../../support/installation.ts";
import { readRequestLog } from "../../support/request-log.ts";
import { openTestSecrets } from "../../support/secrets.ts";

export interface InsideFront extends AsyncDisposable {
  inside: GatewayInternal;
  admin: Admin;
  clock: ManualClock;
  /** Every line of the log, parsed. */
  lines: Record<string, unknown>[];
  account_id: string;
  /** A key of the account acme, as its current caller. */
  openKey(fields?: Partial<KeyRequest>): Promise<Caller>;
  findCaller(key_id: string): Promise<Caller | undefined>;
  /** Every row of the request log, once all queued entries are written. */
  readRows(): Promise<LogEntry[]>;
  /** The number of running searches. */
  countSearches(): number;
  /** Aborts running requests, as the process does at its stop deadline. */
  endRunning(): void;
  /** Makes every read fail. */
  closeDatabase(): Promise<void>;
}

export async function openInside(text = ""): Promise<InsideFront> {
  const alias = "svc";
  const settings = readSettings(text, "wadi.toml", {}, {});
  const place = { kind: "memory" } as const;
  const database = await openTestDatabase(place);
  const clock = createManualClock();
  const ids = createSeededIds();
  const lines: InsideFront["lines"] = [];
  const log = createLog(clock, (line) => void lines.push(JSON.parse(line)), false);
  const access = buildAccess({ database, clock, ids, alias });
  const egress = createTrustedEgress({ clock });
  const deps = { settings, database, egress, compute: inlineCompute, clock, ids, log };
  const models = await buildModels({ ...deps, process: ALONE });
  const running = new InFlight();
  const { registry } = models;
  const router = createRouter({
    ...{
      surface: "gateway",
      alias,
      identify: access.identify,
      identifyKey: access.identifyKey,
      clock,
      ids,
      log,
    },
    limiter: { take: () => null },
    holdOpen: () => () => {},
    observer: null,
  });
  const hashUser = (user: string) => user;
  const { findCaller } = access;
  const gateway = createGateway(router, { ...deps, registry, running, findCaller, hashUser });
  const secrets = openTestSecrets(database, clock);
  const installation = NO_INSTALLATION;
  const core = { settings, access, database, place, clock, ids };
  const admin = buildAdmin({ ...core, secrets, installation, server: null });
  let isOpen = true;
  const close = async () => {
    if (isOpen) await database.close();
    isOpen = false;
  };
  const account = await admin.accounts.create("acme");
  return {
    inside: gateway.internal,
    admin,
    clock,
    lines,
    account_id: account.id,
    async openKey(fields = {}) {
      const { key } = await admin.keys.create(keyRequest(fields));
      return (await access.findCaller(key.id))!;
    },
    findCaller: access.findCaller,
    async readRows() {
      await clock.advance(25);
      return readRequestLog(database).entries();
    },
    countSearches: () => gateway.listStatuses().find(({ name }) => name === "search")!.inUse,
    endRunning: () => running.end(),
    closeDatabase: close,
    async [Symbol.asyncDispose]() {
      // Unwritable entries are retried for a while.
      const stopped = Promise.all(gateway.services.map((service) => service.stop(0)));
      await clock.advance(10_000);
      await stopped;
      egress.close();
      await close();
    },
  };
}

/** The caller, as the run engine passes it. */
export function comeFrom(caller: Caller, request_id = "request-1"): InternalCaller {
  return { caller, request_id, trace: null };
}

/** A question of one user message. */
export function question(
  content: string,
  fields: Partial<InternalChatRequest> = {},
): InternalChatRequest {
  return {
    model: "svc",
    messages: [{ role: "user", content }],
    tools: [],
    temperature: null,
    top_p: null,
    max_tokens: null,
    reasoning: false,
    ...fields,
  };
}

/** A signal that never aborts. */
export const NEVER = new AbortController().signal;
