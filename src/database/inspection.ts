// Inspects a database without changing it, also beside a running server.
import { Database as Connection } from "bun:sqlite";
import { accessSync, constants, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseUnusable, explainPostgres, explainSqlite } from "./errors.ts";
import { findLoss } from "./loss.ts";
import { listMissing, listPostgresMigrations, listSqliteMigrations } from "./migrate.ts";
import { migrations } from "./migrations/index.ts";
import { openPool } from "./postgres-connections.ts";
import type { DatabaseLocation } from "./store.ts";
import { requireOpenablePostgres, requireOpenableSqlite } from "./transfer/state.ts";

export interface Inspection {
  /** `absent`: the next start makes it · `older`: the next start brings it forward. */
  schema: "absent" | "older" | "current";
  key_id: string | null;
  is_paused: boolean;
}

const ABSENT: Inspection = { schema: "absent", key_id: null, is_paused: false };
const OLDER: Inspection = { schema: "older", key_id: null, is_paused: false };
const FIND_KEY = "SELECT key_id FROM secrets_key";
const FIND_PAUSE = "SELECT paused_at FROM wadi_installation";

const BUSY_TIMEOUT_MS = 2_000;

/** Throws a DatabaseUnusable for what no server could start on. */
export async function inspectDatabase(
  place: Exclude<DatabaseLocation, { kind: "memory" }>,
): Promise<Inspection> {
  return place.kind === "sqlite" ? inspectSqlite(place.file) : await inspectPostgres(place.url);
}

function inspectSqlite(file: string): Inspection {
  try {
    const { loss } = findLoss(file);
    if (loss !== null) throw new DatabaseUnusable(loss);
    if (!statSync(file, { throwIfNoEntry: false })) {
      accessSync(findParent(dirname(file)), constants.W_OK | constants.X_OK);
      return ABSENT;
    }
    accessSync(file, constants.R_OK | constants.W_OK);
    accessSync(dirname(file), constants.W_OK | constants.X_OK);
    // A read-only connection would leave the files beside it behind.
    const connection = new Connection(file, { readwrite: true, strict: true });
    try {
      connection.run("PRAGMA query_only = ON");
      connection.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
      requireOpenableSqlite(connection, file);
      const applied = listSqliteMigrations(connection);
      if (!applied || listMissing(migrations, applied).length > 0) return OLDER;
      const key_id = connection.query(FIND_KEY).values()[0]?.[0];
      const is_paused = connection.query(FIND_PAUSE).values()[0]?.[0] !== null;
      return { schema: "current", key_id: (key_id as string | undefined) ?? null, is_paused };
    } finally {
      connection.close();
    }
  } catch (failure) {
    throw explainSqlite(file, failure);
  }
}

async function inspectPostgres(url: string): Promise<Inspection> {
  let pool: ReturnType<typeof openPool> | undefined;
  try {
    pool = openPool(url, 1);
    await requireOpenablePostgres(pool, url);
    const applied = await listPostgresMigrations(pool);
    if (!applied) return ABSENT;
    if (listMissing(migrations, applied).length > 0) return OLDER;
    const [key] = await pool.unsafe(FIND_KEY);
    const [installation] = await pool.unsafe(FIND_PAUSE);
    const is_paused = installation?.paused_at !== null;
    return { schema: "current", key_id: key?.key_id ?? null, is_paused };
  } catch (failure) {
    throw explainPostgres(url, failure);
  } finally {
    await pool?.close();
  }
}

function findParent(directory: string): string {
  const stat = statSync(directory, { throwIfNoEntry: false });
  const parent = dirname(directory);
  return stat || parent === directory ? directory : findParent(parent);
}
