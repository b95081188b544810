// The end of a move's source: nothing has changed it, and from then on nothing writes to it.
import type { Database as Connection } from "bun:sqlite";
import type { SQL } from "bun";
import { readStoredCommits } from "../commit-counter.ts";
import { MOVED_STATE } from "../errors.ts";
import { migrations } from "../migrations/index.ts";
import { describeTables, type TransferTable } from "./tables.ts";

/** Ends a source, in a transaction. */
export interface Seal {
  /** Keeps all writers out until the end of the transaction; another stamp: returns false. */
  lockUnchanged(stamp: string): Promise<boolean>;
  /** Refuses later writes, also those of commands that have opened the source before. */
  refuseWrites(): Promise<void>;
}

/** Time for which writers keep the tables of PostgreSQL locked, before the move gives up. */
const LOCK_TIMEOUT = "10s";

/** Stamps SQLite's data: every commit of a program raises the number. */
export function stampSqlite(connection: Connection): string {
  return String(readStoredCommits(connection));
}

/**
 * Stamps PostgreSQL's data by the places and transactions of all rows: each insert or update makes
 * a new pair, each deletion removes one. The statistics of the server are a second late.
 */
export async function stampPostgres(
  runner: SQL,
  tables: readonly TransferTable[],
): Promise<string> {
  const sums = tables.map(
    ({ name }, seed) =>
      `(SELECT COALESCE(SUM(hashtextextended(ctid::text || xmin::text, ${seed})), 0) FROM ${name})`,
  );
  const [row] = await runner.unsafe(`SELECT (${sums.join(" + ")})::text AS stamp`);
  return row.stamp;
}

/** The transaction is immediate, so that it has locked out other writers. */
export function createSqliteSeal(connection: Connection): Seal {
  return {
    lockUnchanged: async (stamp) => stampSqlite(connection) === stamp,
    async refuseWrites() {
      // Every commit of a program counts itself.
      connection.run(
        `CREATE TRIGGER wadi_moved BEFORE UPDATE ON wadi_commits
         BEGIN SELECT RAISE(ABORT, 'the data were moved'); END`,
      );
    },
  };
}

export function createPostgresSeal(runner: SQL): Seal {
  return {
    async lockUnchanged(stamp) {
      const tables = await describeTables(migrations);
      await runner.unsafe(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`);
      const names = tables.map(({ name }) => name).join(", ");
      await runner.unsafe(`LOCK TABLE ${names} IN SHARE ROW EXCLUSIVE MODE`);
      return (await stampPostgres(runner, tables)) === stamp;
    },
    async refuseWrites() {
      await runner.unsafe(
        `CREATE OR REPLACE FUNCTION wadi_moved() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE 'the data were moved' USING ERRCODE = '${MOVED_STATE}'; END $$`,
      );
      for (const { name } of await describeTables(migrations)) {
        await runner.unsafe(
          `CREATE TRIGGER wadi_moved BEFORE INSERT OR UPDATE OR DELETE ON ${name}
           EXECUTE FUNCTION wadi_moved()`,
        );
      }
    },
  };
}
