// Reads the settings: the file, then the environment over it, then flags.
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { completeSettings, type ReadText } from "./coherence.ts";
import { type Field, listFields } from "./fields.ts";
import { findNearest } from "./nearest.ts";
import { type Environment, type Overrides, Problems, SettingsError } from "./problem.ts";
import { Reader } from "./reader.ts";
import { completeServices, type ServiceStandIn } from "./services.ts";
import { noteSource } from "./setting-list.ts";
import type { Settings } from "./settings.ts";
import { Table } from "./table.ts";
import { readToml, type TomlDocument, TomlError } from "./toml.ts";

/** Maximum size of the file: hundreds of models fit, and the worst is parsed in a second. */
const FILE_BYTES_MAX = 262_144;

/** Values by the path of their setting: `{ "server.port": 0 }`; undefined ones are skipped. */
type Flags = Readonly<Record<string, unknown>>;

interface SettingsOptions {
  readText?: ReadText;
  /** Default true; false for callers that ask no model server and need no keys. */
  wantsApiKeys?: boolean;
  /** Default: `unnamed` where the file names no models, else `none`. */
  standIn?: ServiceStandIn;
  /** Replace defaults of the table, by path. */
  defaults?: Flags;
}

export interface SettingsSource extends Omit<SettingsOptions, "readText"> {
  file?: string;
  /** Refuses a missing file, which otherwise counts as empty. */
  mustExist: boolean;
  env: Environment;
  flags: Flags;
}

/** Loads the settings of a file with environment and flags; throws a SettingsError. */
export function loadSettings({ file, mustExist, env, flags, ...options }: SettingsSource) {
  const text = file === undefined ? "" : readFile(file, mustExist);
  return readSettings(text, file ?? "wadi.toml", env, flags, options);
}

export function defaultSettings(): Settings {
  return readSettings("", "wadi.toml", {}, {});
}

/** Reads the settings of a text that messages call `file`; throws a SettingsError. */
export function readSettings(
  text: string,
  file: string,
  env: Environment,
  flags: Flags,
  { readText = readTextFile, wantsApiKeys = true, standIn, defaults }: SettingsOptions = {},
): Settings {
  const bytes = Buffer.byteLength(text);
  if (bytes > FILE_BYTES_MAX) throw sizeError(file, bytes);
  const document = parseFile(text, file);
  const overrides = readOverrides(Table, env, flags);
  const problems = new Problems(file, document.positions, overrides);
  const settings = new Reader(Table, overrides, problems, defaults).read(
    document.value,
  ) as Settings;
  problems.throwFirst();
  const context = { env, readText, problems, wantsApiKeys };
  const defaultStandIn = Object.hasOwn(document.value, "models") ? "none" : "unnamed";
  completeSettings(settings, context);
  completeServices(settings, { ...context, standIn: standIn ?? defaultStandIn });
  problems.throwFirst();
  noteSource(settings, { file: document.value, overrides, env });
  return freeze(settings);
}

function readFile(file: string, mustExist: boolean): string {
  let bytes: Uint8Array;
  try {
    bytes = readBytes(file);
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && !mustExist) return "";
    throw new SettingsError(
      code === "ENOENT"
        ? `${file} does not exist: correct --config, or write the file`
        : `${file} cannot be read (${code})`,
    );
  }
  if (bytes.length > FILE_BYTES_MAX) {
    throw sizeError(file, Math.max(bytes.length, statSync(file).size));
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new SettingsError(`${file} is not UTF-8 text`);
  }
}

const readTextFile: ReadText = (path) => {
  // Reading a pipe without a writer would block the whole program, also at a reload.
  if (!statSync(path).isFile()) throw new Error("it is no file");
  const bytes = readBytes(path);
  if (bytes.length > FILE_BYTES_MAX) throw new Error("it is too large");
  return Buffer.from(bytes).toString("utf8");
};

/** Reads at most one byte more than is allowed, because a device may never end. */
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

function sizeError(file: string, bytes: number): SettingsError {
  const [size, maximum] = [bytes, FILE_BYTES_MAX].map((count) => Math.ceil(count / 1_024));
  return new SettingsError(`${file} has ${size} KB; the maximum is ${maximum} KB`);
}

function parseFile(text: string, file: string): TomlDocument {
  try {
    return readToml(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const { line, column } = error.position;
    throw new SettingsError(`${file}:${line}:${column}: not valid TOML: ${error.message}`);
  }
}

/** Reads WADI_SERVER__PORT=9000 as `port` of [server]; throws for an unknown setting. */
export function readOverrides(table: Field, env: Environment, flags: Flags): Overrides {
  const fields = listFields(table);
  const overrides = new Map<string, { name: string; value: unknown }>();
  const byVariable = new Map(fields.map(([path, field]) => [nameVariable(path), { path, field }]));
  for (const [name, text] of Object.entries(env)) {
    if (text === undefined || !/^WADI_.*__/s.test(name)) continue;
    const known = byVariable.get(name);
    if (!known) throw variableError(name, byVariable.keys());
    overrides.set(known.path, { name, value: readVariable(known.field, text) });
  }
  for (const [path, value] of Object.entries(flags)) {
    if (value === undefined) continue;
    if (!fields.some(([known]) => known === path)) throw new Error(`no such setting: ${path}`);
    overrides.set(path, { name: `the flag for ${path}`, value });
  }
  return overrides;
}

function nameVariable(path: string): string {
  return `WADI_${path.toUpperCase().replaceAll(".", "__")}`;
}

function variableError(name: string, known: Iterable<string>): SettingsError {
  if (name.startsWith("WADI_MODELS__")) {
    return new SettingsError(`${name} cannot be set: models are declared in the file only`);
  }
  const nearest = findNearest(name, known);
  const hint = nearest === undefined ? "" : `; did you mean ${nearest}?`;
  return new SettingsError(`${name} is the variable of no setting${hint}`);
}

/** Splits lists at commas; a text that does not fit stays text, which the reader refuses. */
function readVariable(field: Field, text: string): unknown {
  if (field.type === "array") return text === "" ? [] : text.split(",").map((item) => item.trim());
  if (field.type === "boolean") return text === "true" || (text === "false" ? false : text);
  const isNumber = field.type === "integer" || field.type === "number";
  return isNumber && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null)
    Object.values(Object.freeze(value)).forEach(freeze);
  return value;
}
