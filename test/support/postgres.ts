// Databases of tests on a PostgreSQL: made, emptied and dropped.
import { randomUUID } from "node:crypto";
import { SQL } from "bun";

/** Of one connection of its own. */
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
 * Of the tables whatever rows are in them; those of the database itself stay as they were made.
 * Whatever is truncated gets new files, which is nearly all that this takes: not the empty ones.
 */
export const EMPTY = `DO $$ DECLARE filled TEXT; BEGIN
  EXECUTE (SELECT COALESCE('SELECT string_agg(name, '', '') FROM (' || string_agg(
      format('SELECT %L AS name WHERE EXISTS (SELECT FROM %I)', quote_ident(tablename), tablename),
      ' UNION ALL ') || ') AS one', 'SELECT NULL')
    FROM pg_tables WHERE schemaname = 'public' AND NOT starts_with(tablename, 'wadi_')) INTO filled;
  IF filled IS NOT NULL THEN EXECUTE 'TRUNCATE ' || filled || ' CASCADE'; END IF;
END $$`;

/** Nobody may be connected any more: whoever is gets cut off. */
export async function emptyDatabase(url: string): Promise<void> {
  await runOn(
    url,
    `DO $$ BEGIN PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid(); END $$`,
  );
  await runOn(url, EMPTY);
}
