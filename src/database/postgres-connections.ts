// Connections to PostgreSQL, each used by one piece of work at a time. No wait outlasts a server
// that has stopped answering: the driver's own time-outs end neither a query nor a wait.
import type { ReservedSQL, SQL } from "bun";
import { type Clock, wait } from "../platform/clock.ts";
import { isCut, isReadOnly, ServerReadOnly, ServerSilent } from "./postgres-failures.ts";
import { BIND_SESSION, type Isolation, Transaction } from "./postgres-transaction.ts";

/** Time after which work under way is looked after: its server may have stopped answering. */
const LOOK_AFTER_MS = 1_500;
/** Time in which a server that is there answers a look. */
const ANSWER_MS = 500;
/** Time after which work ends although the server answers. */
const WORK_MAX_MS = 60_000;
/** Interval between two attempts to reach a server that does not answer. */
const RETRY_EVERY_MS = 250;
/** Connections that are not for work: one listens, and one looks. */
const CONNECTIONS_BESIDE = 2;
/** Maximum attempts to begin; the first one that is cut off ends the other idle connections. */
const ATTEMPTS_MAX = 3;
export const CONNECT_TIMEOUT_S = 10;
/** Start options of a session; a pooler in front takes none. */
export const SESSION = { application_name: "wadi" };

/** A pooler lends another session to each transaction, which must prepare nothing in it. */
export function openPool(url: string, connectionsMax: number, prepare = true): SQL {
  const connection = prepare ? SESSION : {};
  const connectionTimeout = CONNECT_TIMEOUT_S;
  return new Bun.SQL({ url, max: connectionsMax, connectionTimeout, prepare, connection });
}

interface Connection {
  runner: ReservedSQL;
  /** Process of the server. */
  pid: number;
}

/** The connections of one pool. A new pool takes its place when the server falls silent. */
interface PoolState {
  pool: SQL;
  /** For what needs a session; another pool where the work goes through a pooler. */
  sessions: SQL;
  free: Connection[];
  waiting: (() => void)[];
  /** Unused permissions, one a connection. */
  permits: number;
}

interface Use {
  connection: Connection | null;
  startedAt: number;
  /** Since when the server's process waited at the last look; null: it worked. */
  idleSince: string | null;
  fail(failure: Error): void;
}

/** A commit that no standby confirms holds its locks: nothing else goes on behind it. */
const IS_UNCONFIRMED = "wait_event = 'SyncRep' AND state_change < now() - INTERVAL '1 second'";
const OWN_PROCESSES = "FROM pg_stat_activity WHERE datname = current_database()";
/** The server's processes, and since when those that wait for a statement do. */
const PROCESSES = `SELECT pid, CASE WHEN state = 'idle' THEN state_change::text END AS idle_since,
  ${IS_UNCONFIRMED} AS is_unconfirmed ${OWN_PROCESSES}`;
const TAKES_WRITES = `SELECT 1 WHERE NOT pg_is_in_recovery()
  AND NOT EXISTS (SELECT 1 ${OWN_PROCESSES} AND ${IS_UNCONFIRMED})`;

export interface ConnectionsOptions {
  url: string;
  /** Address for the work, where it goes another way than what needs a session. */
  pooler?: string;
  /** One means that no other process is there, and that nothing can look beside the work. */
  connectionsMax: number;
  clock: Clock;
  /** Called with each new pool of sessions: at the start, and when a silent server answers. */
  onOpen(pool: SQL): void;
}

export class PostgresConnections {
  readonly #options: ConnectionsOptions;
  readonly #uses = new Set<Use>();
  readonly #works = new Set<Promise<unknown>>();
  #now: PoolState;
  #silence: Error | null = null;
  #isClosed = false;
  #looking: Promise<void> | null = null;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#now = this.#open();
  }

  /** Runs `work` on a connection of its own; throws where the server is silent. */
  async use<T>(work: (runner: ReservedSQL) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new Error("the database is closed");
    if (this.#silence) throw this.#silence;
    const failed = Promise.withResolvers<never>();
    const startedAt = this.#options.clock.monotonic();
    const use: Use = { connection: null, startedAt, idleSince: null, fail: failed.reject };
    this.#uses.add(use);
    const cancel = this.#watch(use);
    const working = this.#work(use, work);
    this.#works.add(working);
    const forget = () => void this.#works.delete(working);
    working.then(forget, forget);
    // Work that was given up fails once more, later.
    working.catch(() => {});
    try {
      return await Promise.race([working, failed.promise]);
    } finally {
      cancel();
      this.#uses.delete(use);
    }
  }

  /**
   * Runs `work` in a transaction; a failure rolls it back. Where the server has cut a connection,
   * the next one is tried.
   */
  async transact<T>(isolation: Isolation, work: (tx: Transaction) => Promise<T>): Promise<T> {
    for (let attempts = 1; ; attempts++) {
      let tx: Transaction | undefined;
      try {
        return await this.use((runner) => {
          tx = new Transaction(runner, this.#bindsSessions);
          return tx.run(isolation, work);
        });
      } catch (failure) {
        if (tx?.mayHaveRun || attempts === ATTEMPTS_MAX || !isCut(failure)) throw failure;
      }
    }
  }

  /** Ends all connections when the work under way has ended; more work is refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#works);
    await Promise.all(closePools(this.#now));
  }

  /** A pooler lends the session to others; PGlite, behind one connection, answers one by one. */
  get #bindsSessions(): boolean {
    return !this.#options.pooler && this.#options.connectionsMax > 1;
  }

  #open(): PoolState {
    const { url, pooler, connectionsMax, onOpen } = this.#options;
    const beside = connectionsMax > 1 ? CONNECTIONS_BESIDE : 0;
    const sessions = openPool(url, pooler ? CONNECTIONS_BESIDE : connectionsMax + beside);
    const pool = pooler ? openPool(pooler, connectionsMax, false) : sessions;
    onOpen(sessions);
    return { pool, sessions, free: [], waiting: [], permits: connectionsMax };
  }

  async #work<T>(use: Use, work: (runner: ReservedSQL) => Promise<T>): Promise<T> {
    const state = this.#now;
    await takePermit(state);
    try {
      use.connection = state.free.pop() ?? (await connect(state.pool, this.#bindsSessions));
      const value = await work(use.connection.runner);
      this.#giveBack(use, state);
      return value;
    } catch (failure) {
      const isStandby = isReadOnly(failure);
      // A server that cuts one connection mostly cuts them all; a standby takes no write on any.
      if (isCut(failure) || isStandby) {
        for (const { runner } of state.free.splice(0)) end(runner);
        end(use.connection?.runner);
      } else this.#giveBack(use, state);
      if (isStandby) await this.#lookForStandby();
      throw failure;
    } finally {
      returnPermit(state);
    }
  }

  /** One that was given up is ended already. */
  #giveBack({ connection }: Use, state: PoolState): void {
    if (connection) state.free.push(connection);
  }

  #watch(use: Use): () => void {
    if (this.#options.connectionsMax === 1) return () => {};
    let cancel = this.#options.clock.after(LOOK_AFTER_MS, () => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null;
      });
      cancel = this.#watch(use);
    });
    return () => cancel();
  }

  /** Asks the server what it works for, and ends connections that it does not hear any more. */
  async #look(): Promise<void> {
    const now = this.#options.clock.monotonic();
    const old = [...this.#uses].filter(({ startedAt }) => now - startedAt >= LOOK_AFTER_MS);
    const rows = await this.#ask(PROCESSES);
    if (!rows || rows.some((row) => row.is_unconfirmed)) return this.#fallSilent();
    const processes = new Map(rows.map((row) => [row.pid, row.idle_since as string | null]));
    for (const use of old) {
      // Without one it waits for others, which are looked after themselves.
      if (!use.connection) continue;
      const idleSince = processes.get(use.connection.pid);
      // Work may be between two statements, but not at two looks the same two.
      const isSame = idleSince === undefined || (idleSince !== null && idleSince === use.idleSince);
      // A pooler gives the process to other work between two transactions.
      const isLost = isSame && !this.#options.pooler;
      use.idleSince = idleSince ?? null;
      if (isLost || now - use.startedAt >= WORK_MAX_MS) this.#giveUp(use);
    }
  }

  /** A standby would answer reads with what it had, and keep a listener for itself. */
  async #lookForStandby(): Promise<void> {
    const rows = await this.#ask("SELECT 1 WHERE pg_is_in_recovery()");
    if (rows?.length) this.#fallSilent(new ServerReadOnly());
  }

  #giveUp(use: Use, failure: Error = new ServerSilent()): void {
    // Before the end of the connection, which fails the work with a reason of its own.
    use.fail(failure);
    end(use.connection?.runner);
    use.connection = null;
  }

  /** Returns null where the server does not answer in time. */
  async #ask(text: string, pool = this.#now.sessions): Promise<Record<string, unknown>[] | null> {
    const over = new AbortController();
    const late = wait(this.#options.clock, ANSWER_MS, over.signal).then(() => null);
    let runner: ReservedSQL | undefined;
    let isLate = false;
    const asking = pool.reserve().then(async (reserved) => {
      runner = reserved;
      if (isLate) end(reserved);
      return (await reserved.unsafe(text)) as Record<string, unknown>[];
    });
    try {
      const rows = await Promise.race([asking, late]);
      isLate = rows === null;
      return rows;
    } catch {
      return null;
    } finally {
      over.abort();
      // One that looks is not kept: the next one may meet another network.
      end(runner);
      asking.catch(() => {});
    }
  }

  /** Fails all work at once, and new work until a server answers that takes writes. */
  #fallSilent(failure: Error = new ServerSilent()): void {
    if (this.#silence || this.#isClosed) return;
    this.#silence = failure;
    for (const use of this.#uses) this.#giveUp(use, failure);
    void this.#awaitAnswer();
  }

  async #awaitAnswer(): Promise<void> {
    for (const closing of closePools(this.#now)) closing.catch(() => {});
    for (let isThere = false; !isThere; ) {
      // One connection at a time: a server that was frozen begins with all that it has missed.
      const pool = openPool(this.#options.url, 1);
      isThere = (await this.#ask(TAKES_WRITES, pool))?.length === 1;
      pool.close({ timeout: 0 }).catch(() => {});
      if (this.#isClosed) return;
      if (!isThere) await wait(this.#options.clock, RETRY_EVERY_MS);
    }
    this.#now = this.#open();
    this.#silence = null;
  }
}

function closePools({ pool, sessions }: PoolState): Promise<void>[] {
  return [...new Set([pool, sessions])].map((one) => one.close({ timeout: 0 }));
}

async function takePermit(state: PoolState): Promise<void> {
  if (state.permits > 0) state.permits--;
  else await new Promise<void>((resolve) => state.waiting.push(resolve));
}

function returnPermit(state: PoolState): void {
  const next = state.waiting.shift();
  if (next) next();
  else state.permits++;
}

async function connect(pool: SQL, bindsSession: boolean): Promise<Connection> {
  const runner = await pool.reserve();
  try {
    const [row] = await runner.unsafe(
      bindsSession ? BIND_SESSION : "SELECT pg_backend_pid() AS pid",
    );
    return { runner, pid: row.pid };
  } catch (failure) {
    end(runner);
    throw failure;
  }
}

/** Without a time-out of zero, the end waits for the query's. */
function end(runner: ReservedSQL | undefined): void {
  runner?.close({ timeout: 0 }).catch(() => {});
}
