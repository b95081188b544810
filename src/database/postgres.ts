// PostgreSQL and its kin: a pool, serializable transactions, run again when they collide.
import { type ReservedSQL, SQL, type TransactionSQL } from "bun";
import { reachFailPoint } from "../platform/failpoint.ts";
import { readRow } from "../platform/schema.ts";
import type { Bus } from "./bus.ts";
import { createQueue } from "./queue.ts";
import { render, type Sql, sql } from "./sql.ts";
import type { DatabaseEngine, Db, Notification, Tx } from "./store.ts";
import { type Registry, runWrite } from "./transaction.ts";

/** A write that collides runs again beside the others, and then behind those that still collide. */
const ATTEMPTS_BESIDE_MAX = 3;
/** When a server ends all connections, a read may meet one after another: more than a pool has. */
const READS_MAX = 32;
/** A write that has met nothing but collisions for so long means that something is wrong. */
const COLLIDING_MAX_MS = 10_000;
const CHANNEL = "wadi";
/** NOTIFY refuses 8,000 bytes; a longer list of what changed becomes "something did". */
const PAYLOAD_BYTES_MAX = 7_999;
export const CONNECT_TIMEOUT_S = 10;

type Runner = SQL | TransactionSQL | ReservedSQL;

function createExecutor(runner: Runner): Omit<Tx, "tell"> {
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

/** PostgreSQL's code of a failure, such as 40001, or the driver's where the server said nothing. */
export function stateOf(failure: unknown): string {
  const { errno, code } = (failure ?? {}) as { errno?: unknown; code?: unknown };
  return String(errno ?? code ?? "");
}

/**
 * 40001 could not serialise, 40P01 deadlock, 53200 no room to note who depends on whom: nothing
 * was kept, and the whole write runs again.
 */
function isCollision(failure: unknown): boolean {
  return ["40001", "40P01", "53200"].includes(stateOf(failure));
}

/** The connection is gone, and what was asked on it: 57P01 to 57P02, 08, or the driver's word. */
function isCut(failure: unknown): boolean {
  return /^(57P0[12]|08|ERR_POSTGRES_CONNECTION_CLOSED)/.test(stateOf(failure));
}

/** Runs again what changes nothing: who is being answered need not hear of a lost connection. */
async function readAgain<T>(read: () => Promise<T>): Promise<T> {
  for (let reads = 1; ; reads++) {
    try {
      return await read();
    } catch (failure) {
      if (reads === READS_MAX || !isCut(failure)) throw failure;
    }
  }
}

/** A pool; nothing is connected before the first statement. */
export function openPool(url: string, connections_max: number): SQL {
  return new SQL({ url, max: connections_max, connectionTimeout: CONNECT_TIMEOUT_S });
}

/** An engine on a migrated pool; without `listens` there is nobody else to hear or to tell. */
export async function createPostgresEngine(
  pool: SQL,
  registry: Registry,
  bus: Bus,
  listens: boolean,
): Promise<DatabaseEngine> {
  const reader: Db = createExecutor(pool);
  const self = crypto.randomUUID();
  const subscription = listens
    ? await pool.listen(
        CHANNEL,
        (payload) => hear(bus, self, payload),
        // After a lost connection nobody knows what was missed.
        () => bus.publishUnknown(),
      )
    : undefined;

  const attempt = async (name: string, method: string, args: unknown[]) => {
    const told: Notification[] = [];
    const value = await pool.begin("isolation level serializable", async (runner) => {
      const tx = createExecutor(runner);
      const result = await runWrite(registry, tx, told, name, method, args);
      if (listens && told.length > 0) {
        const whole = JSON.stringify([self, told]);
        const payload = Buffer.byteLength(whole) <= PAYLOAD_BYTES_MAX ? whole : "";
        await tx.run(sql`SELECT pg_notify(${CHANNEL}, ${payload})`);
      }
      return result;
    });
    reachFailPoint(`${name}.${method}:after`);
    bus.publish(told);
    return value;
  };
  const lane = createQueue();
  return {
    name: "postgres",
    read: (work) => readAgain(() => work(reader)),
    async write(...call) {
      const begun_ms = performance.now();
      for (let attempts = 1; ; attempts++) {
        try {
          if (attempts <= ATTEMPTS_BESIDE_MAX) return await attempt(...call);
          return await lane(() => attempt(...call));
        } catch (failure) {
          const isOver = performance.now() - begun_ms > COLLIDING_MAX_MS;
          if (isOver || !isCollision(failure)) throw failure;
        }
      }
    },
    async close() {
      await subscription?.unlisten();
    },
  };
}

function hear(bus: Bus, self: string, payload: string): void {
  try {
    const [sender, told] = JSON.parse(payload) as [string, Notification[]];
    // Our own commits have been published already, without the way round through the server.
    if (sender !== self) bus.publish(told);
  } catch {
    // A list too long to be sent, or somebody else's words: something may have changed.
    bus.publishUnknown();
  }
}
