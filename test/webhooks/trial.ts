// A delivery worker on a database in memory, with a manual clock and scripted receivers, seen from
// inside the process.

import { Process } from "../../src/cluster/process.ts";
import type { Secrets } from "../../src/crypto/index.ts";
import type { Database } from "../../src/database/index.ts";
import { openDatabase } from "../../src/database/index.ts";
import type { GuardedFailure, GuardedOutcome, GuardedRequest } from "../../src/net/index.ts";
import { stores } from "../../src/stores.ts";
import { DeliveryWorker } from "../../src/webhooks/delivery-worker.ts";
import type { WebhookDeps } from "../../src/webhooks/deps.ts";
import { Endpoints } from "../../src/webhooks/endpoints.ts";
import { webhookStore } from "../../src/webhooks/store/index.ts";
import { createManualClock, type ManualClock } from "../support/clock.ts";
import { createSeededIds } from "../support/ids.ts";
import { placeInMemory } from "../support/memory.ts";
import { keepTime } from "../support/process-clock.ts";
import { openTestSecrets, type TestSecrets } from "../support/secrets.ts";
import { bindWebhookWrites, webhookWrites } from "../support/webhooks.ts";

export const ACCOUNT = "a-1";
export const URL_1 = "https://one.example.com/hooks";

/** A request as it was sent, with its wall time. */
export interface Sent {
  url: string;
  at: number;
  /** webhook-id */
  id: string;
  body: string;
  headers: Record<string, string>;
  timeoutMs: number;
  responseBytesMax: number;
  signal: AbortSignal;
}
export type Respond = (sent: Sent, nth: number) => GuardedOutcome | Promise<GuardedOutcome>;

export const reply = (status = 204, headers: Record<string, string> = {}, body = "") =>
  ({
    ...{ ok: true, url: URL_1, status, headers: new Headers(headers), truncated: false },
    body: Buffer.from(body),
  }) satisfies GuardedOutcome;
export const fail = (code: GuardedFailure["code"] = "refused"): GuardedFailure => ({
  ...{ ok: false, code, message: `It failed: ${code}.`, sent: code !== "refused", status: null },
});
/** Silent for 15 seconds, or until it is aborted. */
export const hang = (clock: ManualClock, { signal }: Sent): Promise<GuardedOutcome> =>
  new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(fail("aborted")));
    clock.after(15_000, () => resolve(fail("timeout")));
  });

export type Store = ReturnType<typeof bind>;
const bind = (database: Database) => database.bind(webhookStore);

export interface TrialOptions {
  database?: Database;
  clock?: ManualClock;
  seed?: number;
  /** The installation's secrets. */
  secrets?: TestSecrets;
  /** With a shared database, in which no process knows that it is alone. */
  isShared?: boolean;
  /** Wraps the store: a failing database, or a process that is cut off. */
  wrap?(store: Store): Store;
  /** Wraps every store of this process. */
  guard?<T extends object>(store: T): T;
}
export type Trial = Awaited<ReturnType<typeof openTrial>>;

/** Not started yet. */
export async function openTrial(respond: Respond = () => reply(), options: TrialOptions = {}) {
  const clock = options.clock ?? createManualClock();
  const onFailure = (failure: unknown) => {
    throw failure;
  };
  const database =
    options.database ??
    (await openDatabase({
      ...{ place: await placeInMemory(), stores: [...stores, webhookWrites], clock, onFailure },
    }));
  const ids = createSeededIds(options.seed ?? 1);
  const lines: string[] = [];
  const say = (message: string) => void lines.push(message);
  const log = { info: say, warn: say, error: say } as never;
  const sent: Sent[] = [];
  const agents = { webhooks: true };
  const limits = { waiting_deliveries: 10_000, endpoints: 1_000 };
  const { guard = (one) => one, wrap = (one) => one } = options;
  const secrets = options.secrets ?? openTestSecrets(database, clock);
  const box: Secrets = {
    isAvailable: () => secrets.isAvailable(),
    require: (kind) => secrets.require(kind),
    store: (about, secret, write) => secrets.store(about, secret, write),
    open: (place, decoy) => secrets.open(place, decoy),
  };
  const { isShared = false } = options;
  const seen: Database = { ...database, isShared, engine: isShared ? "postgres" : "memory" };
  const process = new Process({
    database: { ...seen, bind: (one) => guard(keepTime(database.bind(one), clock)) },
    ...{ clock, log },
    onFatal(why) {
      throw why;
    },
  });
  const store = bind(database);
  const request = async (ask: GuardedRequest) => {
    const { url, headers, timeoutMs, responseBytesMax, signal } = ask;
    const body = Buffer.from(ask.body as Uint8Array).toString();
    const one = {
      url,
      headers,
      body,
      id: headers["webhook-id"]!,
      at: clock.now(),
      timeoutMs,
      responseBytesMax,
      signal: signal!,
    };
    return respond(one, sent.push(one));
  };
  const deps: WebhookDeps = {
    ...{
      database: seen,
      clock,
      ids,
      log,
      secrets: box,
      process,
      disk: { require() {} },
    },
    egress: { request, validate: (text) => ({ ok: true, url: new URL(text) }) },
    settings: () => ({ limits, agents }) as never,
  };
  const worker = new DeliveryWorker(deps, guard(wrap(store)));
  const endpoints = new Endpoints(deps);
  const outside = bindWebhookWrites(database);
  let happened = 0;

  const until = async <T>(look: () => Promise<T | false | undefined | null>): Promise<T> => {
    for (let turns = 0; turns < 10_000; turns++) {
      const found = await look();
      if (found) return found;
      await clock.advance(0);
    }
    throw new Error("what was waited for did not come");
  };
  /** Waits enough turns for all work that needs no time. */
  const settle = async () => {
    for (let turn = 0; turn < 60; turn++) await clock.advance(0);
  };
  return {
    ...{ clock, database, store, outside, process, worker, endpoints, lines, sent },
    ...{ box, secrets, agents, limits, until, settle, ids },
    async start() {
      await process.start();
      worker.start();
      await settle();
    },
    async stop(deadlineMs = 0) {
      const stopped = Promise.resolve(worker.stop(deadlineMs)).then(() => process.stop());
      await clock.advance(deadlineMs + 2_000);
      await stopped;
    },
    /** An endpoint for all events; returns its id and secret. */
    async listen(url = URL_1, fields: object = {}, account_id = ACCOUNT) {
      const createInput = { url, events: ["run.completed"] as never, ...fields };
      const { row, secret } = await endpoints.create(account_id, createInput);
      return { id: row.id, secret, own: { id: row.id, account_id } };
    },
    /** Stores this number of events; returns their ids. */
    async happen(times = 1, account_id = ACCOUNT) {
      const events: string[] = [];
      for (let n = 0; n < times; n++) {
        const id = ids.uuid();
        const data = { run: { id: `r-${++happened}` } };
        const about = { id, account_id, type: "run.completed" } as const;
        await outside.tell({ ...about, at: clock.now(), data });
        events.push(id);
      }
      await settle();
      return events;
    },
    /** Deliveries in the order of their creation. */
    deliveries: outside.deliveries,
    attempts: outside.attempts,
    /** Advances the time, with all its effects. */
    async pass(ms: number) {
      await clock.advance(ms);
      await settle();
    },
  };
}
