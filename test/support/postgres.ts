// Test databases on PostgreSQL: copied from a template, emptied and dropped.
import { createHash, randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { openDatabase } from "../../src/database/index.ts";
import { createManualClock } from "./clock.ts";

async function runOn(url: string, text: string): Promise<void> {
  const pool = new SQL({ url, max: 1 });
  try {
    await pool.unsafe(text);
  } finally {
    await pool.close();
  }
}

function addressOf(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** Changes with the code that creates tables. */
function hashMigrations(): string {
  const folder = join(import.meta.dir, "../../src/database");
  const hash = createHash("sha256");
  const migrations = readdirSync(join(folder, "migrations")).sort();
  for (const file of ["migrate.ts", ...migrations.map((name) => join("migrations", name))]) {
    hash.update(readFileSync(join(folder, file)));
  }
  return hash.digest("hex").slice(0, 16);
}

const templates = new Map<string, Promise<string>>();

/** The name of a template database, made once per server and state of the migrations. */
function findTemplate(server: string): Promise<string> {
  const template = templates.get(server) ?? makeTemplate(server);
  templates.set(server, template);
  return template;
}

async function makeTemplate(server: string): Promise<string> {
  const name = `wadi_template_${hashMigrations()}`;
  const aside = `${name}_${randomUUID().slice(0, 8)}`;
  const exists = new SQL({ url: server, max: 1 });
  const found = await exists`SELECT 1 FROM pg_database WHERE datname = ${name}`;
  await exists.close();
  if (found.length > 0) return name;
  const url = await createEmptyDatabase(server, aside);
  const place = { kind: "postgres", url, connectionsMax: 1 } as const;
  const clock = createManualClock();
  await (await openDatabase({ place, stores: [], clock, onFailure() {} })).close();
  await cutOff(server, aside);
  // Created under another name and renamed, so that no process copies half of it.
  await runOn(server, `ALTER DATABASE ${aside} RENAME TO ${name}`).catch(async (failure) => {
    await runOn(server, `DROP DATABASE ${aside}`);
    if (failure.errno !== DUPLICATE_DATABASE) throw failure;
  });
  return name;
}

const DUPLICATE_DATABASE = "42P04";

/** Ends every other connection to a database, and waits until they are closed. */
const cutOffText = (database: string) => `DO $$ BEGIN
  PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = ${database} AND pid <> pg_backend_pid();
  WHILE EXISTS (SELECT 1 FROM pg_stat_activity
      WHERE datname = ${database} AND pid <> pg_backend_pid()) LOOP
    PERFORM pg_sleep(0.001), pg_stat_clear_snapshot();
  END LOOP;
END $$`;

const cutOff = (server: string, name: string) => runOn(server, cutOffText(`'${name}'`));

const makeName = () => `wadi_test_${randomUUID().replaceAll("-", "")}`;

/** Creates a database with copied tables, which is twice as fast as creating them. */
export async function createDatabase(server: string): Promise<string> {
  const name = makeName();
  await runOn(server, `CREATE DATABASE ${name} TEMPLATE ${await findTemplate(server)}`);
  return addressOf(server, name);
}

/** Uses a locale that does not sort by code points, so that no test depends on the server's. */
export async function createEmptyDatabase(server: string, name = makeName()): Promise<string> {
  await runOn(
    server,
    `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'
      LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'en'`,
  );
  return addressOf(server, name);
}

export async function dropDatabase(server: string, url: string): Promise<void> {
  await emptying.get(url)?.close();
  emptying.delete(url);
  await runOn(server, `DROP DATABASE ${new URL(url).pathname.slice(1)} WITH (FORCE)`);
}

/**
 * Deletes every row except those of the database itself, by a function that is created once, so
 * that its plans are cached. Tables refer to older tables only.
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

/** One connection for each database that is emptied, since it caches its plans. */
const emptying = new Map<string, SQL>();

/** Cuts off all other connections first. */
export async function emptyDatabase(url: string): Promise<void> {
  const pool = emptying.get(url) ?? new SQL({ url, max: 1 });
  emptying.set(url, pool);
  await pool.unsafe(`${cutOffText("current_database()")}; ${EMPTY}`);
}
