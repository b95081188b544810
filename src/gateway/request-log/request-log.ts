// The request log: one entry for each metered request, its sums and its retention.
import { RateLimiter } from "../../access/index.ts";
import type { Bound, Database } from "../../database/index.ts";
import type { MeteredRequest, RecorderFactory } from "../../http/index.ts";
import { type Clock, settlesWithin } from "../../platform/clock.ts";
import type { Ids } from "../../platform/ids.ts";
import type { Log } from "../../platform/log.ts";
import type { Service } from "../../platform/service.ts";
import type { Tracer } from "../../platform/spans.ts";
import { type Sweep, sweepRows } from "../../retention/index.ts";
import type { Settings } from "../../settings/index.ts";
import type { LogEntry, MeteredRoute } from "./entry.ts";
import { GatewayRecorder } from "./recorder.ts";
import { requestLogStore } from "./store/index.ts";
import { SLOT_MS } from "./store/usage-sums.ts";
import { EntryWriter } from "./writer.ts";

/** Rows of an account in a minute for requests that the rate limit refused or never counted. */
const REFUSED_ROWS_MAX = 120;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Minimum time for the last entries, even if the stop has less. */
const LAST_WRITES_MS = 2_000;

export interface RequestLogOptions {
  store: Pick<Bound<typeof requestLogStore>, "add">;
  clock: Clock;
  ids: Ids;
  log: Log;
}

export interface RequestLogStatus {
  underWay: number;
  unwritten: number;
  lost: number;
}

export class RequestLog {
  readonly service: Service = {
    name: "request log",
    start() {},
    stop: (deadlineMs) => this.#stop(deadlineMs),
  };
  readonly #options: RequestLogOptions;
  readonly #writer: EntryWriter;
  readonly #observers: ((entry: LogEntry) => void)[] = [];
  readonly #refusals: RateLimiter;
  #underWay = 0;
  #onIdle: (() => void) | undefined;

  constructor(options: RequestLogOptions) {
    const { store, clock, log } = options;
    this.#options = options;
    this.#writer = new EntryWriter(store, clock, log);
    this.#refusals = new RateLimiter(clock, {
      requests_max: REFUSED_ROWS_MAX,
      windowMs: MINUTE_MS,
      closingMs: 0,
    });
  }

  /** `tracer` records a span of each request; null: none. */
  meter(route: MeteredRoute, tracer: Tracer | null = null): RecorderFactory<GatewayRecorder> {
    const { clock, ids } = this.#options;
    const take = (entry: LogEntry, isAdmitted: boolean) => this.#take(entry, isAdmitted);
    return {
      open: (request: MeteredRequest) => {
        this.#underWay += 1;
        return new GatewayRecorder({ route, clock, tracer, drawId: ids.uuid, take }, request);
      },
    };
  }

  /** Calls `observer` with each entry as its request ends; it must be quick and never throw. */
  observe(observer: (entry: LogEntry) => void): void {
    this.#observers.push(observer);
  }

  status(): RequestLogStatus {
    return { underWay: this.#underWay, ...this.#writer.status() };
  }

  #take(entry: LogEntry, isAdmitted: boolean): void {
    const account = entry.account_id ?? entry.key_id;
    if (isAdmitted || this.#refusals.claim(account) === 0) this.#writer.add(entry);
    for (const observer of this.#observers) observer(entry);
    this.#underWay -= 1;
    if (this.#underWay === 0) this.#onIdle?.();
  }

  async #stop(deadlineMs: number): Promise<void> {
    const { clock, log } = this.#options;
    // The server accepts no more requests; those that it aborted end soon.
    const idle = Promise.withResolvers<void>();
    this.#onIdle = idle.resolve;
    if (this.#underWay > 0) await settlesWithin(clock, deadlineMs, idle.promise);
    const rows = await this.#writer.finish(Math.max(deadlineMs, LAST_WRITES_MS));
    if (rows > 0) log.error("request log: entries were not written before the stop", { rows });
  }
}

export interface RequestLogSweepOptions {
  database: Database;
  settings(): Pick<Settings, "retention">;
}

/** The sums stay. */
export function createRequestLogSweeps({ database, settings }: RequestLogSweepOptions): Sweep[] {
  const store = database.bind(requestLogStore);
  return [
    {
      what: "entries of the ledger",
      async run(now, isStopping) {
        const keepMs = settings().retention.request_log;
        if (keepMs === null) return 0;
        return sweepRows(isStopping, (limit) => store.sweep(now - keepMs, limit));
      },
    },
    {
      what: "half hours of usage, added up by day",
      async run(now, isStopping) {
        const keepMs = settings().retention.usage_half_hours;
        if (keepMs === null) return 0;
        const until = Math.floor((now - keepMs) / DAY_MS) * (DAY_MS / SLOT_MS);
        let total = 0;
        for (let folded = 1; folded > 0 && !(await isStopping()); total += folded) {
          folded = await store.foldDay(until);
        }
        return total;
      },
    },
  ];
}
