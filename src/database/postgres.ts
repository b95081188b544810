// PostgreSQL: a pool, and serializable transactions that run again when they collide.
import { type ReservedSQL, SQL, type TransactionSQL } from "bun";
import { reachFailPoint } from "../platform/failpoint.ts";
import { readRow } from "../platform/schema.ts";
import type { Bus } from "./bus.ts";
import { createQueue, nameWrite, type Registry, runWrite, type WriteCall } from "./registry.ts";
import { render, type Sql, sql } from "./sql.ts";
import { type DatabaseEngine, type Db, type Notification, type Tx, WROTE } from "./store.ts";

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

export function createExecutor(runner: SQL | TransactionSQL | ReservedSQL): Omit<Tx, "tell"> {
  const ask = (query: Sql) => {
    const { text, values } = render(query, (position) => `$${position}`);
    return runner.unsafe(text, values) as Promise<Record<string, unknown>[] & { count: number }>;
  };
  return {
    all: async (schema, query) => (await ask(query)).map((row) => readRow(schema, row)),
    async one(schema, query) {
      const row = (await ask(query))[0];
      return row ? readRow(schema, row) : undefined;
    },
    run: async (query) => (await ask(query)).count,
    skipLocked: sql`FOR UPDATE SKIP LOCKED`,
  };
}

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
  #subscription: { unlisten(): Promise<void> } | undefined;

  constructor(pool: SQL, registry: Registry, bus: Bus, announces: boolean) {
    this.#announces = announces;
    this.#pool = pool;
    this.#registry = registry;
    this.#bus = bus;
    this.#reader = createExecutor(pool);
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

  async write(store: string, method: string, args: unknown[]): Promise<unknown> {
    const call = { store, method, args };
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

  async close(): Promise<void> {
    await this.#subscription?.unlisten();
  }

  async #attempt(call: WriteCall): Promise<unknown> {
    const notifications: Notification[] = [];
    const value = await this.#pool.begin("isolation level serializable", async (runner) => {
      const tx = createExecutor(runner);
      const result = await runWrite(this.#registry, tx, notifications, call);
      const wrote: Notification = [WROTE, nameWrite(call.store, call.method)];
      const told = this.#announces ? [...notifications, wrote] : notifications;
      if (this.#subscription && told.length > 0) {
        const whole = JSON.stringify([this.#self, told]);
        const payload = Buffer.byteLength(whole) <= PAYLOAD_BYTES_MAX ? whole : "";
        await tx.run(sql`SELECT pg_notify(${CHANNEL}, ${payload})`);
      }
      return result;
    });
    reachFailPoint(`${nameWrite(call.store, call.method)}:after`);
    this.#bus.publish(notifications);
    return value;
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
