// Runs statements of stores on a connection of PostgreSQL.
import type { ReservedSQL, SQL, TransactionSQL } from "bun";
import { readRow } from "../platform/schema.ts";
import { render, type Sql, sql } from "./sql.ts";
import type { Executor } from "./store.ts";

/** Sends each statement at once, in the order of the calls. */
export function executeOn(runner: SQL | TransactionSQL | ReservedSQL): Executor {
  const ask = (query: Sql) => {
    const { text, values } = render(query, (position) => `$${position}`);
    const asked = runner.unsafe(text, values).execute();
    return asked as Promise<Record<string, unknown>[] & { count: number }>;
  };
  return {
    all: async (schema, query) => (await ask(query)).map((row) => readRow(schema, row)),
    async one(schema, query) {
      const row = (await ask(query))[0];
      return row ? readRow(schema, row) : undefined;
    },
    run: async (query) => (await ask(query)).count,
    commitEarly() {},
    forUpdate: sql`FOR UPDATE`,
    forShare: sql`FOR SHARE`,
    skipLocked: sql`FOR UPDATE SKIP LOCKED`,
    clock: sql`CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`,
  };
}
