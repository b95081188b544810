// PostgreSQL: a pool, groups of frequent writes, and serializable transactions for all others,
// which run again when they collide.
import { Type } from "@sinclair/typebox";
import type { SQL } from "bun";
import { createSystemClock, wait } from "../platform/clock.ts";
import { reachFailPoint } from "../platform/failpoint.ts";
import type { Bus } from "./bus.ts";
import { PostgresConnections } from "./postgres-connections.ts";
import { executeOn } from "./postgres-executor.ts";
import { isCollision, isCut } from "./postgres-failures.ts";
import { PostgresGroups } from "./postgres-groups.ts";
import type { SendBehind } from "./postgres-transaction.ts";
import { createQueue, nameWrite, type Registry, runWrite, type WriteCall } from "./registry.ts";
import { type Sql, sql } from "./sql.ts";
import { type DatabaseEngine, type Db, type Executor, type Notification, WROTE } from "./store.ts";

/** Maximum attempts of a write beside others; further attempts run one by one. */
const PARALLEL_ATTEMPTS_MAX = 3;
/** Maximum attempts of a read, above the pool's size: a server may cut all connections at once. */
const READ_ATTEMPTS_MAX = 32;
/** Time after which a write that only collides fails. */
const COLLIDING_MAX_MS = 10_000;
const CHANNEL = "wadi";
/** Time in which notifications gather, so that many commits are told in one message. */
const GATHER_MS = 5;
/** Maximum notifications of one message, which fit its payload if their ids are UUIDs. */
const TOLD_MAX = 100;
/** Maximum payload of NOTIFY; a longer list is sent empty and wakes every listener. */
const PAYLOAD_BYTES_MAX = 7_999;

const NOTHING = Type.Object({});

export interface PostgresOptions {
  url: string;
  /** Address for the work, where it goes another way than what needs a session. */
  pooler?: string;
  /** One means that no other process is there. */
  connectionsMax: number;
  registry: Registry;
  bus: Bus;
  /**
   * How other processes hear of every write. Commands tell in the transaction: they may end before
   * a message of their own has left. Servers that share the data tell behind it. A lone server
   * knows its own writes, and tells only whom a write wakes.
   */
  announces: "in the transaction" | "behind" | "never";
  /** Several processes commit groups. */
  takesTurns: boolean;
}

export class PostgresEngine implements DatabaseEngine {
  readonly name = "postgres";
  readonly #options: PostgresOptions;
  readonly #connections: PostgresConnections;
  /** The network is real where the clock of a test is not. */
  readonly #clock = createSystemClock();
  readonly #self = crypto.randomUUID();
  readonly #queue = createQueue();
  readonly #groups: PostgresGroups | null;
  /** Messages of the present interval: many writes wake the same listeners. */
  readonly #unsent = new Map<string, Notification>();
  /** Calls and notifications that other processes heard of with the commit. */
  readonly #sentBehind = new WeakSet<object>();
  #sending: Promise<void> | null = null;
  #subscription: Promise<{ unlisten(): Promise<void> }> | null = null;

  constructor(options: PostgresOptions) {
    this.#options = options;
    const { registry, connectionsMax } = options;
    const isShared = connectionsMax > 1;
    const onOpen = (pool: SQL) => {
      if (isShared) this.#listen(pool);
    };
    this.#connections = new PostgresConnections({
      ...{ url: options.url, pooler: options.pooler, connectionsMax, clock: this.#clock, onOpen },
    });
    const groups = {
      connections: this.#connections,
      registry,
      announce: (tx: Executor, calls: readonly WriteCall[], told: readonly Notification[]) =>
        this.#announce(tx, calls, told),
      tellBehind: (calls: readonly WriteCall[], told: readonly Notification[]) =>
        this.#tellBehind(calls, told),
      onCommit: (calls: readonly WriteCall[], told: readonly Notification[]) =>
        this.#publish(calls, told),
      takesTurns: options.takesTurns,
      commitsEarly: this.#commitsEarly,
    };
    this.#groups = isShared ? new PostgresGroups(groups) : null;
  }

  /** Settles when notifications of other processes are heard. */
  async listening(): Promise<void> {
    await this.#subscription;
  }

  #listen(pool: SQL): void {
    const { bus } = this.#options;
    const isFirst = this.#subscription === null;
    this.#subscription = pool.listen(
      CHANNEL,
      (payload) => this.#receive(payload),
      // After a lost connection, notifications may be missing.
      () => bus.publishUnknown(),
    );
    const heard = this.#subscription.then(() => {
      if (!isFirst) bus.publishUnknown();
    });
    // The next pool listens again.
    heard.catch(() => {});
  }

  async read<T>(work: (db: Db) => Promise<T>): Promise<T> {
    for (let attempts = 1; ; attempts++) {
      try {
        return await this.#connections.use((runner) => work(executeOn(runner)));
      } catch (failure) {
        if (attempts === READ_ATTEMPTS_MAX || !isCut(failure)) throw failure;
      }
    }
  }

  write(store: string, method: string, args: unknown[]): Promise<unknown> {
    const call = { store, method, args };
    const findRoot = this.#options.registry.get(store)?.roots?.[method];
    if (!this.#groups || !findRoot) return this.#runAlone(call);
    const root = `${store} ${findRoot(...(args as never[]))}`;
    return this.#groups.write({ ...call, root });
  }

  async close(): Promise<void> {
    await this.#groups?.close();
    await this.#sending;
    await this.#subscription?.then((one) => one.unlisten()).catch(() => {});
    await this.#connections.close();
  }

  async #runAlone(call: WriteCall): Promise<unknown> {
    const startedAt = performance.now();
    for (let attempts = 1; ; attempts++) {
      try {
        if (attempts <= PARALLEL_ATTEMPTS_MAX) return await this.#attempt(call);
        return await this.#queue(() => this.#attempt(call));
      } catch (failure) {
        const isOver = performance.now() - startedAt > COLLIDING_MAX_MS;
        if (isOver || !isCollision(failure)) throw failure;
      }
    }
  }

  async #attempt(call: WriteCall): Promise<unknown> {
    const notifications: Notification[] = [];
    const value = await this.#connections.transact("SERIALIZABLE", async (transaction) => {
      const executor = executeOn(transaction.runner);
      const commitEarly = () => {
        if (this.#commitsEarly) transaction.commit();
      };
      const tx = { ...executor, commitEarly };
      const result = await runWrite(this.#options.registry, tx, notifications, call);
      await this.#announce(tx, [call], notifications);
      return result;
    });
    this.#publish([call], notifications);
    return value;
  }

  /** A command tells others in the transaction, when it knows what it has written. */
  get #commitsEarly(): boolean {
    return this.#options.announces !== "in the transaction";
  }

  /** Part of a command's transaction. */
  async #announce(
    tx: Executor,
    calls: readonly WriteCall[],
    told: readonly Notification[],
  ): Promise<void> {
    if (this.#options.announces !== "in the transaction" || !this.#subscription) return;
    await tx.run(this.#notify([...told, ...calls.map(tellWrite)]));
  }

  #publish(calls: readonly WriteCall[], told: readonly Notification[]): void {
    for (const { store, method } of calls) reachFailPoint(`${nameWrite(store, method)}:after`);
    this.#options.bus.publish(told);
    const isUnsent = (one: object) => !this.#sentBehind.has(one);
    this.#tellSoon(this.#listTold(calls.filter(isUnsent), told.filter(isUnsent)));
  }

  /** Notifications for other processes, which hear of them behind the commit. */
  #listTold(calls: readonly WriteCall[], told: readonly Notification[]): Notification[] {
    const { announces } = this.#options;
    if (announces === "in the transaction" || !this.#subscription) return [];
    return announces === "behind" ? [...told, ...calls.map(tellWrite)] : [...told];
  }

  #tellSoon(told: readonly Notification[]): void {
    if (told.length === 0) return;
    for (const one of told) this.#unsent.set(one.join(" "), one);
    this.#sending ??= this.#send();
  }

  /** Also tells what earlier calls left unsent: that needs no message of its own. */
  #tellBehind(calls: readonly WriteCall[], told: readonly Notification[]): SendBehind {
    return async (executor) => {
      const own = this.#listTold(calls, told).map((one) => [one.join(" "), one] as const);
      const all = new Map([...this.#unsent, ...own]);
      if (all.size === 0 || all.size > TOLD_MAX) return;
      for (const one of [...calls, ...told]) this.#sentBehind.add(one);
      this.#unsent.clear();
      const list = [...all.values()];
      await executor.run(this.#notify(list)).catch(() => this.#tellSoon(list));
    };
  }

  /**
   * Tells other processes behind the commit: commits that notify wait for each other in the whole
   * server.
   */
  async #send(): Promise<void> {
    while (this.#unsent.size > 0) {
      await wait(this.#clock, GATHER_MS);
      const told = [...this.#unsent.values()];
      this.#unsent.clear();
      while (told.length > 0) {
        const notify = this.#notify(told.splice(0, TOLD_MAX));
        // The others look by themselves when their connection is lost, too.
        await this.read((db) => db.all(NOTHING, notify)).catch(() => {});
      }
    }
    this.#sending = null;
  }

  #notify(told: readonly Notification[]): Sql {
    const whole = JSON.stringify([this.#self, told]);
    const payload = Buffer.byteLength(whole) <= PAYLOAD_BYTES_MAX ? whole : "";
    return sql`SELECT pg_notify(${CHANNEL}, ${payload})`;
  }

  #receive(payload: string): void {
    try {
      const [sender, notifications] = JSON.parse(payload) as [string, Notification[]];
      if (sender !== this.#self) this.#options.bus.publish(notifications, false);
    } catch {
      // A list too long to be sent, or a payload of another program.
      this.#options.bus.publishUnknown();
    }
  }
}

function tellWrite({ store, method }: WriteCall): Notification {
  return [WROTE, nameWrite(store, method)];
}
