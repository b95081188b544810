// From the command line's flags to the settings and the place of the data.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseLocation } from "../database/index.ts";
import { type AllowEntry, readAllowEntry, writeAllowEntry } from "../net/index.ts";
import { MISSING, readStamp } from "../platform/file-watch.ts";
import {
  loadSettings,
  type ServiceStandIn,
  type Settings,
  SettingsError,
} from "../settings/index.ts";
import { type CommandInput, readList, readNumber, readText, UsageError } from "./command.ts";

/** Where the settings are looked for unless `--config` says otherwise. */
export const FILE = "wadi.toml";
export const DATABASE_FILE = "wadi.db";
const NOTE_FILE = "watchdog.json";
/** Enough to keep two cores of a database server busy, few enough to share it. */
const POSTGRES_CONNECTIONS_MAX = 16;

interface SettingsReadOptions {
  /** Goes over all, by the path of the setting. */
  fixed?: Record<string, unknown>;
  /** Whether keys of model servers must be set: not where none is asked. */
  wantsApiKeys?: boolean;
  /** Stub for embeddings and search. */
  standIn?: ServiceStandIn;
  /** Whether a missing file is an error without --config too. */
  mustExist?: boolean;
}

/** The file that settings were read from. */
export interface SettingsFile {
  path: string;
  /** What it was like just before that (file-watch.ts). */
  stamp: string;
  /** The settings as it says them now, with the same flags; throws like the first time. */
  read(): Settings;
}

/** Reads like readGivenSettings; returns the file too. */
export function openGivenSettings(input: CommandInput, reading: SettingsReadOptions = {}) {
  const path = readText(input, "config") ?? FILE;
  const stamp = readStamp(path);
  const settings = readGivenSettings(input, reading);
  const read = () => readGivenSettings(input, { ...reading, mustExist: true });
  const file: SettingsFile | null = stamp === MISSING ? null : { path, stamp, read };
  return { settings, file };
}

/**
 * The settings of `--config`, or of ./wadi.toml where it is there; other flags go over them. Throws
 * a SettingsError, or a UsageError where a flag is at fault.
 */
export function readGivenSettings(
  input: CommandInput,
  reading: SettingsReadOptions = {},
): Settings {
  const { fixed, wantsApiKeys, standIn } = reading;
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
    const source = { file: file ?? FILE, mustExist, env, flags, wantsApiKeys, standIn };
    return openPlaces(loadSettings(source), allow);
  } catch (failure) {
    const flag = /^the flag for server\.(.*)/s.exec((failure as Error).message)?.[1];
    throw failure instanceof SettingsError && flag ? new UsageError(`--${flag}`) : failure;
  }
}

/** What `--allow-egress` opens. */
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
 * For a command that works without settings, also where ./wadi.toml is broken: those of `--config`,
 * which is refused like anywhere else; undefined: none were named.
 */
export function readNamedSettings(input: CommandInput): Settings | undefined {
  if (readText(input, "config") === undefined) return undefined;
  return readGivenSettings(input, { wantsApiKeys: false });
}

/** Whether the settings' own place holds them; without, the defaults hold. */
export function hasSettingsFile(): boolean {
  return existsSync(FILE);
}

/** Where the data of these settings lies. */
export function placeData({ server }: Settings): Exclude<DatabaseLocation, { kind: "memory" }> {
  if (server.database === "") return { kind: "sqlite", file: join(server.data, DATABASE_FILE) };
  return { kind: "postgres", url: server.database, connections_max: POSTGRES_CONNECTIONS_MAX };
}

/** The same for people, without the user and the password. */
export function nameData({ server }: Settings): string {
  if (server.database === "") return server.data;
  const address = URL.parse(server.database);
  return `PostgreSQL at ${address?.host}${address?.pathname}`;
}
