// A SQLite connection with every pragma set, and the Db and Tx that run on it.
import { Database as Connection, type Statement } from "bun:sqlite";
import { readRow } from "../platform/schema.ts";
import { type Bindable, bindable, isFlat, isSql, none, render, type Sql, sql } from "./sql.ts";
import type { Db, Executor } from "./store.ts";

const BUSY_TIMEOUT_MS = 5_000;
/** Maximum tries of the switch to WAL, which ignores that time-out. */
const SWITCH_TRIES_MAX = 50;
const SWITCH_EVERY_MS = 10;
/** Maximum prepared statements of nested templates; the oldest are evicted. */
const NESTED_STATEMENTS_MAX = 1_000;
/**
 * Placeholder of values. SQLite plans a join anew for each value of a bare `?`, at 3 to 5 µs. A
 * unary plus avoids that, but hides the value from partial indexes, whose conditions are literals.
 */
const PLACEHOLDER = "+?";

export function openConnection(path: string, image?: Uint8Array): Connection {
  const connection = image
    ? Connection.deserialize(image, { strict: true })
    : new Connection(path, { create: true, strict: true });
  try {
    connection.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    connection.run("PRAGMA foreign_keys = ON");
    connection.run("PRAGMA trusted_schema = OFF");
    connection.run("PRAGMA cell_size_check = ON");
    connection.run("PRAGMA temp_store = MEMORY");
    connection.run("PRAGMA cache_size = -16384");
    if (path !== ":memory:") switchToWal(connection);
    // Acknowledged writes survive a loss of power, not only a crash of the process.
    connection.run("PRAGMA synchronous = FULL");
    connection.run("PRAGMA wal_autocheckpoint = 1000");
    connection.run("PRAGMA journal_size_limit = 67108864");
    return connection;
  } catch (failure) {
    connection.close(true);
    throw failure;
  }
}

/** Processes that open a fresh file at once may fail as busy in spite of the time-out. */
function switchToWal(connection: Connection): void {
  for (let tries = 1; ; tries++) {
    try {
      const mode = connection.query("PRAGMA journal_mode = WAL").values()[0]?.[0];
      if (mode !== "wal") throw new Error(`the journal mode is ${mode} instead of wal`);
      return;
    } catch (failure) {
      if (tries === SWITCH_TRIES_MAX || !isBusy(failure)) throw failure;
      Bun.sleepSync(SWITCH_EVERY_MS);
    }
  }
}

export function hasTable(connection: Connection, name: string): boolean {
  return connection.query("SELECT 1 FROM sqlite_schema WHERE name = ?").values(name).length > 0;
}

/** Returns a function that tells if another connection has committed since its last call. */
export function watchVersion(connection: Connection): () => boolean {
  const version = connection.prepare("PRAGMA data_version");
  let seen: unknown;
  return () => {
    const before = seen;
    seen = version.values()[0]?.[0];
    return seen !== before;
  };
}

/** Returns SQLite's code of a failure, such as SQLITE_BUSY_SNAPSHOT, or an empty text. */
export function codeOf(failure: unknown): string {
  const code = (failure as { code?: unknown } | null)?.code;
  return typeof code === "string" && code.startsWith("SQLITE_") ? code : "";
}

export function readSqliteVersion(): string {
  const connection = new Connection(":memory:");
  const row = connection.query("SELECT sqlite_version() AS version").get() as { version: string };
  connection.close();
  return row.version;
}

export function isBusy(failure: unknown): boolean {
  return codeOf(failure).startsWith("SQLITE_BUSY");
}

interface Composed {
  parts: readonly (number | readonly string[])[];
  text: string;
}

function createComposer() {
  const known = new WeakMap<readonly string[], Composed>();
  return (query: Sql): { text: string; values: Bindable[] } => {
    const parts: (number | readonly string[])[] = [];
    const values: Bindable[] = [];
    gather(query, parts, values);
    const last = known.get(query.strings);
    if (last?.parts.length === parts.length && parts.every((part, at) => part === last.parts[at])) {
      return { text: last.text, values };
    }
    const { text } = render(query, () => PLACEHOLDER);
    known.set(query.strings, { parts, text });
    return { text, values };
  };
}

function gather(query: Sql, parts: (number | readonly string[])[], values: Bindable[]): void {
  for (const value of query.values) {
    if (isSql(value)) {
      parts.push(values.length, value.strings);
      gather(value, parts, values);
    } else values.push(bindable(value));
  }
}

export function createExecutor(connection: Connection): Executor {
  const flat = new WeakMap<readonly string[], Statement>();
  const compose = createComposer();
  const nested = new Map<string, Statement>();
  const prepareFlat = (query: Sql) => {
    let statement = flat.get(query.strings);
    if (!statement) {
      statement = connection.prepare(query.strings.join(PLACEHOLDER));
      flat.set(query.strings, statement);
    }
    return { statement, values: query.values.map(bindable) };
  };
  const prepare = (query: Sql): { statement: Statement; values: Bindable[] } => {
    if (isFlat(query)) return prepareFlat(query);
    const { text, values } = compose(query);
    let statement = nested.get(text);
    if (!statement) {
      statement = connection.prepare(text);
      nested.set(text, statement);
      for (const [oldest, unused] of nested) {
        if (nested.size <= NESTED_STATEMENTS_MAX) break;
        nested.delete(oldest);
        unused.finalize();
      }
    }
    return { statement, values };
  };
  const db: Db = {
    async all(schema, query) {
      const { statement, values } = prepare(query);
      const rows = statement.all(...values);
      return rows.map((row) => readRow(schema, row as Record<string, unknown>));
    },
    async one(schema, query) {
      const { statement, values } = prepare(query);
      const row = statement.get(...values);
      return row ? readRow(schema, row as Record<string, unknown>) : undefined;
    },
    ...{ forUpdate: none, forShare: none, skipLocked: none },
    clock: sql`CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
  };
  return Object.assign(db, {
    commitEarly() {},
    async run(query: Sql) {
      const { statement, values } = prepare(query);
      return statement.run(...values).changes;
    },
  });
}
