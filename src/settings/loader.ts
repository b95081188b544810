// Reads the settings file and puts the settings together: file, then environment, then flags.

import { closeSync, openSync, readSync, statSync } from "node:fs";
import { parse, TomlError } from "smol-toml";
import { shorten } from "../platform/text.ts";
import { completeSettings, type ReadText } from "./coherence.ts";
import { findKeyLines } from "./key-lines.ts";
import { type Environment, readOverrides } from "./overrides.ts";
import { Problems, SettingsError } from "./problem.ts";
import { Reader } from "./reader.ts";
import { completeServices, type ServiceStandIn } from "./services.ts";
import type { Settings } from "./settings.ts";
import { Table } from "./table.ts";

/** Larger than any list of models, small enough to be read while a person waits. */
const FILE_BYTES_MAX = 1_048_576;

type Flags = Readonly<Record<string, unknown>>;

export interface SettingsSource {
  /** The path of the file; without one there are only defaults, environment and flags. */
  file?: string;
  /** false: a file that does not exist counts as an empty one. */
  must_exist: boolean;
  env: Environment;
  /** By the path of the setting: `{ "server.port": 0 }`; undefined values are skipped. */
  flags: Flags;
  /** false: for who asks no model server; its key need not be at hand. Left out: true. */
  wants_api_keys?: boolean;
  /** What stands in for embeddings and search that are not named, or that cannot be reached. */
  stand_in?: ServiceStandIn;
}

/** The settings of a file with what environment and flags say over it; throws a SettingsError. */
export function loadSettings(source: SettingsSource): Settings {
  const { file, must_exist, env, flags, wants_api_keys, stand_in } = source;
  const text = file === undefined ? "" : readFile(file, must_exist);
  return readSettings(text, file ?? "wadi.toml", env, flags, { wants_api_keys, stand_in });
}

/** What holds without file, environment and flags: the stub model on the loopback address. */
export function defaultSettings(): Settings {
  return readSettings("", "wadi.toml", {}, {});
}

interface Reading {
  readText?: ReadText;
  wants_api_keys?: boolean;
  stand_in?: ServiceStandIn;
}

const readTextFile: ReadText = (path) => {
  // A pipe into which nobody writes would hold up the whole program, also at a reload.
  if (!statSync(path).isFile()) throw new Error("it is no file");
  const bytes = readBytes(path);
  if (bytes.length > FILE_BYTES_MAX) throw new Error("it is too large");
  return Buffer.from(bytes).toString("utf8");
};

/** The settings of a text; `file` is what messages call it. Throws a SettingsError. */
export function readSettings(
  text: string,
  file: string,
  env: Environment,
  flags: Flags,
  { readText = readTextFile, wants_api_keys = true, stand_in }: Reading = {},
): Settings {
  if (Buffer.byteLength(text) > FILE_BYTES_MAX) throw refuseSize(file);
  const given = parseToml(text, file);
  const overrides = readOverrides(Table, env, flags);
  const problems = new Problems(file, text, overrides);
  const settings = new Reader(Table, overrides, problems).read(given) as Settings;
  problems.throwFirst();
  const names_models = Object.hasOwn(given as object, "models");
  completeSettings(settings, { env, readText, problems, wants_api_keys });
  completeServices(settings, {
    ...{ env, readText, problems, wants_api_keys },
    stand_in: stand_in ?? (names_models ? "none" : "unnamed"),
  });
  problems.throwFirst();
  return freeze(settings);
}

function readFile(file: string, must_exist: boolean): string {
  let bytes: Uint8Array;
  try {
    bytes = readBytes(file);
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && !must_exist) return "";
    throw new SettingsError(
      code === "ENOENT"
        ? `${file} does not exist: correct --config, or write the file`
        : `${file} cannot be read (${code})`,
    );
  }
  if (bytes.length > FILE_BYTES_MAX) throw refuseSize(file);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new SettingsError(`${file} is not UTF-8 text`);
  }
}

/** At most one byte more than is allowed, also of a pipe or a device that never ends. */
function readBytes(file: string): Uint8Array {
  const descriptor = openSync(file, "r");
  try {
    const bytes = new Uint8Array(FILE_BYTES_MAX + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(descriptor, bytes, length, bytes.length - length, null);
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(descriptor);
  }
}

function refuseSize(file: string): SettingsError {
  return new SettingsError(`${file} is larger than 1 MB`);
}

function parseToml(text: string, file: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // Only the parser's first line: those below it quote the file, which may hold a password.
    const says = error.message.split("\n", 1)[0]!.replace("Invalid TOML document: ", "");
    const key = findKeyLines(text).findLast(({ line }) => line === error.line)?.path;
    const place = key === undefined ? "" : ` at ${shorten(key)}`;
    throw new SettingsError(`${file}:${error.line}: not valid TOML${place}: ${says}`);
  }
}

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null)
    Object.values(Object.freeze(value)).forEach(freeze);
  return value;
}
