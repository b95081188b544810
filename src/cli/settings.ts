// Reads the settings and the place of the data from the flags of a command.
import { statSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseLocation } from "../database/index.ts";
import { type AllowEntry, readAllowEntry, writeAllowEntry } from "../net/index.ts";
import { MISSING, readStamp } from "../platform/file-watch.ts";
import {
  copySource,
  loadSettings,
  type ServiceStandIn,
  type Settings,
  SettingsError,
} from "../settings/index.ts";
import { type CommandInput, readList, readNumber, readText, UsageError } from "./command.ts";

export const FILE = "wadi.toml";
export const DATABASE_FILE = "wadi.db";
const NOTE_FILE = "watchdog.json";

interface SettingsReadOptions {
  fixed?: Record<string, unknown>;
  /** Requires the keys of model servers, unless none is called. */
  wantsApiKeys?: boolean;
  standIn?: ServiceStandIn;
  /** Replace defaults of the table, by path. */
  defaults?: Record<string, unknown>;
  /** Refuses a missing file even without --config. */
  mustExist?: boolean;
}

export interface SettingsFile {
  path: string;
  /** Stamp from just before the read; see file-watch.ts. */
  stamp: string;
  read(): Settings;
}

export function openGivenSettings(input: CommandInput, reading: SettingsReadOptions = {}) {
  const path = readText(input, "config") ?? FILE;
  const stamp = readStamp(path);
  const settings = readGivenSettings(input, reading);
  const read = () => readGivenSettings(input, { ...reading, mustExist: true });
  const file: SettingsFile | null = stamp === MISSING ? null : { path, stamp, read };
  return { settings, file };
}

/** Reads the settings of `--config` or ./wadi.toml, over which other flags go. */
export function readGivenSettings(
  input: CommandInput,
  reading: SettingsReadOptions = {},
): Settings {
  const { fixed, wantsApiKeys, standIn, defaults } = reading;
  const file = readText(input, "config");
  const allow = readAllowed(input);
  const flags: Record<string, unknown> = {
    "server.data": readText(input, "data"),
    "server.host": readText(input, "host"),
    "server.port": readNumber(input, "port"),
    ...fixed,
  };
  try {
    const mustExist = reading.mustExist ?? file !== undefined;
    const env = process.env;
    const own = { wantsApiKeys, standIn, defaults };
    const source = { file: file ?? FILE, mustExist, env, flags, ...own };
    return openPlaces(loadSettings(source), allow);
  } catch (failure) {
    const flag = /^the flag for server\.(.*)/s.exec((failure as Error).message)?.[1];
    throw failure instanceof SettingsError && flag ? new UsageError(`--${flag}`) : failure;
  }
}

function readAllowed(input: CommandInput): AllowEntry[] {
  return readList(input, "allow-egress").map((text) => {
    try {
      return readAllowEntry(text);
    } catch (failure) {
      if (!(failure instanceof RangeError)) throw failure;
      throw new UsageError(`--allow-egress ${failure.message}, but is "${text}"`);
    }
  });
}

/** Adds addresses to those of the file, which stay allowed. */
function openPlaces(settings: Settings, more: readonly AllowEntry[]): Settings {
  if (more.length === 0) return settings;
  const places = [...settings.egress.allow, ...more];
  const byText = new Map(places.map((one) => [writeAllowEntry(one), one]));
  const allow = Object.freeze([...byText.values()]);
  const egress = Object.freeze({ ...settings.egress, allow });
  const opened = Object.freeze({ ...settings, egress });
  copySource(opened, settings);
  return opened;
}

/** The file of the installation's secrets key; no backup holds it. */
export function placeSecretsKey({ server }: Settings): string {
  return server.secrets_key_file || join(server.data, "secrets.key");
}

export function placeNote({ server }: Settings): string {
  return join(server.data, NOTE_FILE);
}

/** Reads the settings of `--config` only, for commands that need none. */
export function readNamedSettings(input: CommandInput): Settings | undefined {
  if (readText(input, "config") === undefined) return undefined;
  return readGivenSettings(input, { wantsApiKeys: false });
}

export function placeData({ server }: Settings): Exclude<DatabaseLocation, { kind: "memory" }> {
  if (server.database === "") return { kind: "sqlite", file: join(server.data, DATABASE_FILE) };
  const { database: url, database_pooler: pooler, database_connections: connectionsMax } = server;
  return { kind: "postgres", url, pooler, connectionsMax, isShared: server.valkey !== "" };
}

/** Finds a SQLite database in the data directory of an installation on PostgreSQL. */
export function findUnusedDatabase({ server }: Settings): string | null {
  if (server.database === "") return null;
  const file = join(server.data, DATABASE_FILE);
  try {
    return statSync(file).size > 0 ? file : null;
  } catch {
    return null;
  }
}

/** Names the place of the data without user and password. */
export function nameData({ server }: Settings): string {
  if (server.database === "") return server.data;
  const address = URL.parse(server.database);
  return `PostgreSQL at ${address?.host}${address?.pathname}`;
}

/** The address of the server by its settings, which a command on its data knows alone. */
export function placeServer({ server }: Settings): string {
  const host = server.host.includes(":") ? `[${server.host}]` : server.host;
  // A command reads no certificate.
  const scheme = server.tls.cert === "" ? "http" : "https";
  return `${scheme}://${host}:${server.port}`;
}
