// Databases of tests on a PostgreSQL: made, emptied and dropped.
import { randomUUID } from "node:crypto";
import { SQL } from "bun";

async function runOn(url: string, text: string): Promise<void> {
  const pool = new SQL({ url, max: 1 });
  await pool.unsafe(text);
  await pool.close();
}

/** Takes some hundred milliseconds, and its tables as many again: `emptyDatabase` a tenth. */
export async function createDatabase(server: string): Promise<string> {
  const name = `wadi_test_${randomUUID().replaceAll("-", "")}`;
  // In a language that does not sort by code points, so that nothing leans on the server's.
  await runOn(
    server,
    `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'
      LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'en'`,
  );
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

export async function dropDatabase(server: string, url: string): Promise<void> {
  await runOn(server, `DROP DATABASE ${new URL(url).pathname.slice(1)} WITH (FORCE)`);
}

/**
 * Deletes every row but those of the database itself, by a function that is made once: its plans
 * are kept. A table's references are to older tables.
 */
export const EMPTY = `DO $$ BEGIN
  IF to_regproc('wadi_empty') IS NULL THEN
    EXECUTE (SELECT 'CREATE FUNCTION wadi_empty() RETURNS void LANGUAGE plpgsql AS $body$ BEGIN '
        || string_agg(format('DELETE FROM %I;', relname), ' ' ORDER BY oid DESC) || ' END $body$'
      FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
        AND NOT starts_with(relname, 'wadi_'));
  END IF;
  PERFORM wadi_empty();
END $$`;

/** Cuts off all connections first. */
export async function emptyDatabase(url: string): Promise<void> {
  await runOn(
    url,
    `DO $$ BEGIN PERFORM pg_terminate_backend(pid, 10000) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid(); END $$;
    ${EMPTY}`,
  );
}
