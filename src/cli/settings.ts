// From the command line's flags to the settings and the place of the data.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type AllowEntry, readAllowEntry, writeAllowEntry } from "../platform/allow-entry.ts";
import type { Place } from "../platform/database/index.ts";
import { MISSING, readStamp } from "../platform/file-watch.ts";
import {
  loadSettings,
  type Settings,
  SettingsError,
  type StandIn,
} from "../platform/settings/index.ts";
import { type Given, readList, readNumber, readText, UsageProblem } from "./verb.ts";

/** Where the settings are looked for unless `--config` says otherwise. */
export const FILE = "wadi.toml";
export const DATABASE_FILE = "wadi.db";
const NOTE_FILE = "watchdog.json";
/** Enough to keep two cores of a database server busy, few enough to share it. */
const POSTGRES_CONNECTIONS_MAX = 16;

interface Reading {
  /** Goes over all, by the path of the setting. */
  fixed?: Record<string, unknown>;
  /** false: no model server will be asked, so that its key need not be at hand. */
  wants_api_keys?: boolean;
  /** What stands in for embeddings and search; left out: nothing beside named models. */
  stand_in?: StandIn;
  /** true: the file has to be there, also where no flag names it. */
  must_exist?: boolean;
}

/** The file that settings were read from. */
export interface SettingsFile {
  path: string;
  /** What it was like just before that (file-watch.ts). */
  stamp: string;
  /** The settings as it says them now, with the same flags; throws like the first time. */
  read(): Settings;
}

/** The settings as readGivenSettings, and their file; null: there is none. */
export function openGivenSettings(given: Given, reading: Reading = {}) {
  const path = readText(given, "config") ?? FILE;
  const stamp = readStamp(path);
  const settings = readGivenSettings(given, reading);
  const read = () => readGivenSettings(given, { ...reading, must_exist: true });
  const file: SettingsFile | null = stamp === MISSING ? null : { path, stamp, read };
  return { settings, file };
}

/**
 * The settings of `--config`, or of ./wadi.toml where it is there; other flags go over them. Throws
 * a SettingsError, or a UsageProblem where a flag is at fault.
 */
export function readGivenSettings(given: Given, reading: Reading = {}): Settings {
  const { fixed, wants_api_keys, stand_in } = reading;
  const file = readText(given, "config");
  const allow = readAllowed(given);
  const flags: Record<string, unknown> = {
    "server.data": readText(given, "data"),
    "server.host": readText(given, "host"),
    "server.port": readNumber(given, "port"),
    ...fixed,
  };
  try {
    const must_exist = reading.must_exist ?? file !== undefined;
    const env = process.env;
    const source = { file: file ?? FILE, must_exist, env, flags, wants_api_keys, stand_in };
    return openPlaces(loadSettings(source), allow);
  } catch (failure) {
    const flag = /^the flag for server\.(.*)/s.exec((failure as Error).message)?.[1];
    throw failure instanceof SettingsError && flag ? new UsageProblem(`--${flag}`) : failure;
  }
}

/** What `--allow-egress` opens. */
function readAllowed(given: Given): AllowEntry[] {
  return readList(given, "allow-egress").map((text) => {
    try {
      return readAllowEntry(text);
    } catch (failure) {
      if (!(failure instanceof RangeError)) throw failure;
      throw new UsageProblem(`--allow-egress ${failure.message}, but is "${text}"`);
    }
  });
}

/** Flags go over the file, save these: what it opens stays open beside them. */
function openPlaces(settings: Settings, more: readonly AllowEntry[]): Settings {
  if (more.length === 0) return settings;
  const places = [...settings.egress.allow, ...more];
  const byText = new Map(places.map((one) => [writeAllowEntry(one), one]));
  const allow = Object.freeze([...byText.values()]);
  return Object.freeze({ ...settings, egress: Object.freeze({ ...settings.egress, allow }) });
}

/** The file of the installation's secrets key; no backup holds it. */
export function placeSecretsKey({ server }: Settings): string {
  return server.secrets_key_file || join(server.data, "secrets.key");
}

/** Where a server's watchdog leaves its note for the next start. */
export function placeNote({ server }: Settings): string {
  return join(server.data, NOTE_FILE);
}

/**
 * For a verb that works without settings, also where ./wadi.toml is broken: those of `--config`,
 * which is refused like anywhere else; undefined: none were named.
 */
export function readNamedSettings(given: Given): Settings | undefined {
  if (readText(given, "config") === undefined) return undefined;
  return readGivenSettings(given, { wants_api_keys: false });
}

/** Whether the settings' own place holds them; without, the defaults hold. */
export function hasSettingsFile(): boolean {
  return existsSync(FILE);
}

/** Where the data of these settings lies. */
export function placeData({ server }: Settings): Exclude<Place, { kind: "memory" }> {
  if (server.database === "") return { kind: "sqlite", file: join(server.data, DATABASE_FILE) };
  return { kind: "postgres", url: server.database, connections_max: POSTGRES_CONNECTIONS_MAX };
}

/** The same for people, without the user and the password. */
export function nameData({ server }: Settings): string {
  if (server.database === "") return server.data;
  const address = URL.parse(server.database);
  return `PostgreSQL at ${address?.host}${address?.pathname}`;
}
