// The counters that several processes share: in Valkey, and in the database while it is away. A
// limit is never exceeded: the database counts once each process has reported what it admitted. The
// executable holds this file packed, so it imports no module with state.
import type { LimitRule, LimitStates } from "../access/index.ts";
import type { Bound, Database } from "../database/index.ts";
import { type Clock, yieldToEventLoop } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Service } from "../platform/service.ts";
import { type NextPass, WorkerLoop } from "../platform/worker-loop.ts";
import { MOVED } from "./moved.ts";
import { FILL, FILL_SLOTS, HOLD, OPEN, TAKE } from "./scripts.ts";
import type { CounterReport, counterStore } from "./store.ts";
import { type Script, Valkey } from "./valkey.ts";

const LOOK_EVERY_MS = 1_000;
/** After this time without an answer, other processes may count in PostgreSQL. */
const FENCE_MS = 6_000;
/** Requests that a report tells apart; each counts as the latest of its interval. */
const INTERVAL_MS = 100;
/** Term of the report of a process that ends, and reports no more. */
const LAST_TERM = Number.MAX_SAFE_INTEGER;
/** Maximum arguments of one script, which others wait for. */
const PAIRS_MAX = 1_000;

/** Slots that a process asks for. */
export interface SlotDemand {
  keep: number;
  wanted: number;
  max: number;
}

export interface SharedCountersOptions {
  url: string;
  /** Id of the data: other installations may use the same Valkey. */
  installation: string;
  database: Pick<Database, "listen">;
  store: Bound<typeof counterStore>;
  process: { readonly epoch: number };
  /** Says what this process has admitted in the last minute. */
  limits: { export(): LimitStates };
  clock: Clock;
  log: Log;
  /** Deadline of a call to Valkey, in milliseconds; 250 by default. */
  callMs?: number;
}

export class SharedCounters implements Service {
  readonly name = "valkey";
  readonly #options: SharedCountersOptions;
  readonly #store: Bound<typeof counterStore>;
  readonly #valkey: Valkey;
  readonly #loop: WorkerLoop;
  /** Counts for this process; `waiting`: no place does. */
  #place: { mode: "valkey" | "database" | "waiting"; term: number } = { mode: "waiting", term: 0 };
  #confirmedAt = Number.NEGATIVE_INFINITY;
  /** Valkey has lost its counters. */
  #isLost = false;
  /** Valkey did not answer since the last look, and before how many looks in a row. */
  #hasFailed = false;
  #failedLooks = 0;
  #reportedTerm = 0;
  readonly #deciding = new Set<Promise<unknown>>();
  /** Slots in use by service, those included that are asked for. */
  readonly #slots = new Map<string, number>();
  #unlisten = () => {};
  #wasAway = false;

  constructor(options: SharedCountersOptions) {
    this.#options = options;
    const { url, callMs, store, clock, log } = options;
    this.#store = store;
    this.#valkey = new Valkey(url, this.#key("probe"), callMs);
    this.#loop = new WorkerLoop({
      clock,
      work: () => this.#look(),
      onError: (error) => log.error("valkey: who counts the limits could not be found", { error }),
      retryMs: LOOK_EVERY_MS,
    });
  }

  status(): { name: string; state: "on" | "down" } {
    return { name: this.name, state: this.#place.mode === "valkey" ? "on" : "down" };
  }

  async start(): Promise<void> {
    this.#unlisten = this.#options.database.listen(MOVED, () => this.#loop.wake());
    await this.#store.open();
    await this.#look();
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    this.#unlisten();
    await this.#loop.stop();
    for (const [service, slots] of this.#slots) {
      this.#slots.set(service, 0);
      if (slots > 0) await this.#tell(service);
    }
    await this.#wait();
    // The others need not remember this process.
    await this.#report(LAST_TERM).catch(() => {});
    this.#valkey.close();
  }

  /** Counts one request and returns 0, or how long none will be; null: no place can tell now. */
  claim(limiter: string, name: string, rule: LimitRule): Promise<number | null> {
    return this.#decide(async () => {
      const { mode, term } = this.#place;
      const { requests_max, windowMs, closingMs } = rule;
      const counter = `${limiter}:${name}`;
      if (mode === "database") {
        const { epoch } = this.#options.process;
        const take = { ...{ term, epoch, counter }, requests_max, windowMs, closingMs };
        return this.#store.take(take);
      }
      const key = this.#key(`${term}:${counter}`);
      return this.#ask(TAKE, [key, `${key}:c`], [requests_max, windowMs, closingMs]);
    });
  }

  /** Tests that no other process can count without this one. */
  get isSure(): boolean {
    return this.#options.clock.monotonic() - this.#confirmedAt <= FENCE_MS;
  }

  get #canAsk(): boolean {
    return this.#place.mode !== "waiting" && this.isSure;
  }

  /** Takes one of `max` slots of all processes. */
  async take(service: string, max: number): Promise<boolean> {
    const slots = this.#countSlots(service) + 1;
    this.#slots.set(service, slots);
    const demand = { keep: slots - 1, wanted: slots, max };
    const granted = await this.#decide(() => this.#hold(service, demand));
    const isTaken = granted !== null && granted >= slots;
    if (!isTaken) this.release(service);
    return isTaken;
  }

  release(service: string): void {
    const slots = this.#countSlots(service) - 1;
    this.#slots.set(service, slots);
    void this.#tell(service);
  }

  /**
   * Replaces the slots that this process has by `keep` and up to `wanted`, of `max` in all. Returns
   * how many it may use: fewer than it keeps where others wait; null: no place can tell now.
   */
  async reserve(service: string, demand: SlotDemand): Promise<number | null> {
    const { keep, wanted } = demand;
    // Without an answer the slots may be granted; without a request they are not.
    this.#slots.set(service, this.#canAsk ? Math.max(keep, wanted) : keep);
    const granted = await this.#decide(() => this.#hold(service, demand, true));
    if (granted !== null) this.#slots.set(service, Math.max(keep, granted));
    return granted;
  }

  #countSlots(service: string): number {
    return this.#slots.get(service) ?? 0;
  }

  /** Says what this process has. A place that does not hear it lets it lapse, or is told again. */
  async #tell(service: string): Promise<void> {
    const slots = this.#countSlots(service);
    await this.#hold(service, { keep: slots, wanted: slots, max: null }).catch(() => {});
  }

  #hold(
    service: string,
    { keep, wanted, max }: Omit<SlotDemand, "max"> & { max: number | null },
    isFair = false,
  ): Promise<number | null> {
    const { mode, term } = this.#place;
    const { epoch } = this.#options.process;
    if (mode !== "valkey") {
      return this.#store.hold({ term, epoch, service, keep, wanted, max, isFair });
    }
    const key = this.#key(`${term}:slots:${service}`);
    return this.#ask(HOLD, [key], [epoch, keep, wanted, max ?? -1]);
  }

  /** Decides only where it is sure who counts, before and after. */
  async #decide<T>(ask: () => Promise<T | null>): Promise<T | null> {
    const place = this.#place;
    if (!this.#canAsk) return null;
    const asking = ask().catch(() => null);
    this.#deciding.add(asking);
    const answer = await asking;
    this.#deciding.delete(asking);
    if (answer === null) this.#loop.wake();
    return this.#place === place ? answer : null;
  }

  #key(name: string): string {
    return `wadi:{${this.#options.installation}}:${name}`;
  }

  async #ask(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<number | null> {
    const { term } = this.#place;
    const answer = await this.#valkey.run(script, [this.#key("term"), ...keys], [term, ...args]);
    if (answer !== null && answer >= 0) return answer;
    if (answer === null) this.#hasFailed = true;
    else this.#isLost = true;
    return null;
  }

  /** One look at who counts, and what this process has to do for it. */
  async #look(): Promise<NextPass> {
    const { clock, process } = this.#options;
    const askedAt = clock.monotonic();
    const place = (await this.#store.find().catch((failure) => this.#renewAlone(failure)))!;
    const { mode, term } = place;
    this.#confirmedAt = askedAt;
    switch (mode) {
      case "valkey":
        if (!(await this.#follow(term, place.server))) await this.#lose(term);
        break;
      case "gathering":
        await this.#wait(term);
        if (this.#reportedTerm === term) await this.#store.settle();
        else await this.#report(term);
        break;
      case "database":
        this.#set("database", term);
        await this.#store.reach(process.epoch, term, await this.#valkey.reach());
        break;
      case "filling":
        await this.#wait(term);
        if (place.epoch !== process.epoch) await this.#store.settle();
        else if (await this.#fill(term)) await this.#store.fill(term);
        else await this.#store.lose(term);
    }
    return { inMs: LOOK_EVERY_MS };
  }

  /** Returns whether Valkey can count: the server is that one, and it answers. */
  async #follow(term: number, server: string | null): Promise<boolean> {
    const isNew = this.#place.mode !== "valkey" || this.#place.term !== term;
    this.#failedLooks = this.#hasFailed ? this.#failedLooks + 1 : 0;
    // Failures between two looks in a row mean more than a cut connection.
    const isAway = this.#isLost || this.#failedLooks > 1;
    this.#hasFailed = false;
    this.#isLost = false;
    if (isAway && !isNew) return false;
    if (isNew || !this.#valkey.isConnected) {
      if ((await this.#valkey.reach()) !== server) return false;
      this.#set("valkey", term);
    }
    await this.#renew();
    return true;
  }

  /** Keeps the slots of requests under way while the database is away. */
  async #renewAlone(failure: unknown): Promise<never> {
    if (this.#place.mode === "valkey") await this.#renew();
    throw failure;
  }

  async #renew(): Promise<void> {
    for (const [service, slots] of this.#slots) if (slots > 0) await this.#tell(service);
  }

  async #lose(term: number): Promise<void> {
    await this.#wait(term);
    await this.#store.lose(term);
  }

  /** Decides nothing from now on, and waits until what was asked is decided and noted. */
  async #wait(term = this.#place.term): Promise<void> {
    this.#set("waiting", term);
    await Promise.all(this.#deciding);
    await yieldToEventLoop();
  }

  #set(mode: "valkey" | "database" | "waiting", term: number): void {
    if (this.#place.mode === mode && this.#place.term === term) return;
    this.#place = { mode, term };
    const { log } = this.#options;
    if (mode === "valkey" && this.#wasAway) log.info("valkey: it counts the limits again");
    if (mode === "database" && !this.#wasAway) {
      log.warn("valkey: it is away, and PostgreSQL counts the limits");
    }
    if (mode !== "waiting") this.#wasAway = mode === "database";
  }

  async #report(term: number): Promise<void> {
    const slots = [...this.#slots].filter(([, count]) => count > 0);
    const report = { takes: [...listTakes(this.#options.limits.export())], slots };
    await this.#store.report(this.#options.process.epoch, term, report);
    this.#reportedTerm = term;
  }

  /** Writes to Valkey what all have admitted; returns whether it has all of it. */
  async #fill(term: number): Promise<boolean> {
    const takes = await this.#store.listTakes();
    for (const [counter, rows] of Map.groupBy(takes, (one) => one.counter)) {
      const key = this.#key(`${term}:${counter}`);
      for (let at = 0; at < rows.length; at += PAIRS_MAX) {
        const pairs = rows
          .slice(at, at + PAIRS_MAX)
          .flatMap(({ age, requests }) => [age, requests]);
        if (!(await this.#write(FILL, [key, `${key}:c`], pairs))) return false;
      }
    }
    for (const { service, epoch, slots } of await this.#store.listSlots()) {
      const key = this.#key(`${term}:slots:${service}`);
      if (!(await this.#write(FILL_SLOTS, [key], [epoch, slots]))) return false;
    }
    return this.#write(OPEN, [this.#key("term")], [term]);
  }

  async #write(...call: Parameters<Valkey["run"]>): Promise<boolean> {
    const answer = await this.#valkey.run(...call);
    return answer !== null && answer >= 0;
  }
}

/** Writes the counters of a process as rows: few for many requests, and none too early. */
function* listTakes(limits: LimitStates): Generator<CounterReport["takes"][number]> {
  for (const [limiter, counters] of Object.entries(limits)) {
    for (const [name, closedMs, ages] of counters) {
      const counter = `${limiter}:${name}`;
      if (closedMs > 0) yield [counter, -Math.ceil(closedMs), 0];
      const sums = new Map<number, number>();
      for (const age of ages) {
        const interval = Math.floor(age / INTERVAL_MS) * INTERVAL_MS;
        sums.set(interval, (sums.get(interval) ?? 0) + 1);
      }
      for (const [age, requests] of sums) yield [counter, age, requests];
    }
  }
}
