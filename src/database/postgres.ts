// PostgreSQL: a pool, groups of frequent writes, and serializable transactions for all others,
// which run again when they collide.
import { Type } from "@sinclair/typebox";
import { SQL } from "bun";
import { reachFailPoint } from "../platform/failpoint.ts";
import type { Bus } from "./bus.ts";
import { type Executor, executeOn } from "./postgres-executor.ts";
import { PostgresGroups } from "./postgres-groups.ts";
import { createQueue, nameWrite, type Registry, runWrite, type WriteCall } from "./registry.ts";
import { type Sql, sql } from "./sql.ts";
import { type DatabaseEngine, type Db, type Notification, WROTE } from "./store.ts";

/** Maximum attempts of a write beside others; further attempts run one by one. */
const PARALLEL_ATTEMPTS_MAX = 3;
/** Maximum attempts of a read, above the pool's size: a server may cut all connections at once. */
const READ_ATTEMPTS_MAX = 32;
/** Time after which a write that only collides fails. */
const COLLIDING_MAX_MS = 10_000;
const CHANNEL = "wadi";
/** Maximum payload of NOTIFY; a longer list is sent empty and wakes every listener. */
const PAYLOAD_BYTES_MAX = 7_999;
export const CONNECT_TIMEOUT_S = 10;

/** Returns PostgreSQL's code of a failure, such as 40001, or the driver's. */
export function stateOf(failure: unknown): string {
  const { errno, code } = (failure ?? {}) as { errno?: unknown; code?: unknown };
  return String(errno ?? code ?? "");
}

/** 40001: could not serialise; 40P01: deadlock; 53200: no room to track dependencies. */
function isCollision(failure: unknown): boolean {
  return ["40001", "40P01", "53200"].includes(stateOf(failure));
}

function isCut(failure: unknown): boolean {
  return /^(57P0[12]|08|ERR_POSTGRES_CONNECTION_CLOSED)/.test(stateOf(failure));
}

export function openPool(url: string, connectionsMax: number): SQL {
  return new SQL({ url, max: connectionsMax, connectionTimeout: CONNECT_TIMEOUT_S });
}

const NOTHING = Type.Object({});

export interface PostgresOptions {
  registry: Registry;
  bus: Bus;
  announces: boolean;
  /** Other connections are there, and so may be other processes. */
  isShared: boolean;
}

export class PostgresEngine implements DatabaseEngine {
  readonly name = "postgres";
  readonly #pool: SQL;
  readonly #registry: Registry;
  readonly #bus: Bus;
  /** Tells the server of every write: commands write seldom, and the server knows its own. */
  readonly #announces: boolean;
  readonly #reader: Db;
  readonly #self = crypto.randomUUID();
  readonly #queue = createQueue();
  /** Absent where one connection is all there is. */
  readonly #groups: PostgresGroups | null;
  #unsent: Notification[] = [];
  #sending: Promise<void> | null = null;
  #subscription: { unlisten(): Promise<void> } | undefined;

  constructor(pool: SQL, { registry, bus, announces, isShared }: PostgresOptions) {
    this.#announces = announces;
    this.#pool = pool;
    this.#registry = registry;
    this.#bus = bus;
    this.#reader = executeOn(pool);
    const groups = {
      pool,
      registry,
      announce: (tx: Executor, calls: readonly WriteCall[], told: readonly Notification[]) =>
        this.#announce(tx, calls, told),
      onCommit: (calls: readonly WriteCall[], told: readonly Notification[]) =>
        this.#publish(calls, told),
      runAlone: (call: WriteCall) => this.#runAlone(call),
    };
    this.#groups = isShared ? new PostgresGroups(groups) : null;
  }

  async listen(): Promise<void> {
    this.#subscription = await this.#pool.listen(
      CHANNEL,
      (payload) => this.#receive(payload),
      // After a lost connection, notifications may be missing.
      () => this.#bus.publishUnknown(),
    );
  }

  async read<T>(work: (db: Db) => Promise<T>): Promise<T> {
    for (let attempts = 1; ; attempts++) {
      try {
        return await work(this.#reader);
      } catch (failure) {
        if (attempts === READ_ATTEMPTS_MAX || !isCut(failure)) throw failure;
      }
    }
  }

  write(store: string, method: string, args: unknown[]): Promise<unknown> {
    const call = { store, method, args };
    const findRoot = this.#registry.get(store)?.roots?.[method];
    if (!this.#groups || !findRoot) return this.#runAlone(call);
    const root = `${store} ${findRoot(...(args as never[]))}`;
    return this.#groups.write({ ...call, root });
  }

  async close(): Promise<void> {
    await this.#groups?.close();
    await this.#sending;
    await this.#subscription?.unlisten();
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
    const value = await this.#pool.begin("isolation level serializable", async (runner) => {
      const tx = executeOn(runner);
      const result = await runWrite(this.#registry, tx, notifications, call);
      await this.#announce(tx, [call], notifications);
      return result;
    });
    this.#publish([call], notifications);
    return value;
  }

  /** Part of a command's transaction: it may end before a message of its own has left. */
  async #announce(
    tx: Executor,
    calls: readonly WriteCall[],
    told: readonly Notification[],
  ): Promise<void> {
    if (!this.#announces || !this.#subscription) return;
    const wrote = calls.map(({ store, method }): Notification => [WROTE, nameWrite(store, method)]);
    await tx.run(this.#notify([...told, ...wrote]));
  }

  #publish(calls: readonly WriteCall[], told: readonly Notification[]): void {
    for (const { store, method } of calls) reachFailPoint(`${nameWrite(store, method)}:after`);
    this.#bus.publish(told);
    if (this.#announces || !this.#subscription || told.length === 0) return;
    this.#unsent.push(...told);
    this.#sending ??= this.#send();
  }

  /**
   * Tells other processes behind the commit: commits that notify wait for each other in the whole
   * server. What comes meanwhile leaves with the next message.
   */
  async #send(): Promise<void> {
    while (this.#unsent.length > 0) {
      const told = this.#unsent;
      this.#unsent = [];
      // The others look by themselves when their connection is lost, too.
      await this.#reader.all(NOTHING, this.#notify(told)).catch(() => {});
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
      if (sender !== this.#self) this.#bus.publish(notifications, false);
    } catch {
      // A list too long to be sent, or a payload of another program.
      this.#bus.publishUnknown();
    }
  }
}
