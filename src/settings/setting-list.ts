// Lists every setting with its value and where that comes from; secrets are never part of it.
import { existsSync } from "node:fs";
import { writeAllowEntry } from "../net/index.ts";
import type { Field } from "./fields.ts";
import type { Environment, Overrides } from "./problem.ts";
import type { Settings } from "./settings.ts";
import { Table } from "./table.ts";
import { joinPath } from "./toml.ts";

export const ORIGINS = ["default", "file", "environment", "flag"] as const;
export type SettingOrigin = (typeof ORIGINS)[number];

export interface SettingRow {
  /** Path in the file; a model's settings are named by its id. */
  name: string;
  value: unknown;
  origin: SettingOrigin;
  /** A change takes effect at the next start. */
  needs_restart: boolean;
}

interface Source {
  /** The file as it was read. */
  file: Readonly<Record<string, unknown>>;
  overrides: Overrides;
  env: Environment;
  /** Rows of settings that keep their value until a restart. */
  kept: ReadonlyMap<string, SettingRow>;
}

const sources = new WeakMap<Settings, Source>();

/** Remembers where settings come from. */
export function noteSource(settings: Settings, source: Omit<Source, "kept">): void {
  sources.set(settings, { ...source, kept: new Map() });
}

/** Remembers the same for settings made of others; `pending` paths are still those of `before`. */
export function copySource(
  to: Settings,
  from: Settings,
  before: Settings = from,
  pending: readonly string[] = [],
): void {
  const source = sources.get(from);
  if (!source) return;
  const rows = pending.length === 0 ? [] : listSettings(before);
  const kept = rows.filter(({ name }) => pending.includes(name));
  sources.set(to, { ...source, kept: new Map(kept.map((row) => [row.name, row])) });
}

/** Lists the settings in the order of the reference. */
export function listSettings(settings: Settings): SettingRow[] {
  const source = sources.get(settings);
  if (!source) throw new Error("these settings were not read");
  const rows: SettingRow[] = [];
  new SettingWalk(settings, source, rows).list();
  return rows;
}

/** Settings that may differ between machines with the same data. */
const OF_MACHINE = [
  ...["server.host", "server.port", "server.data", "server.secrets_key_file", "operator.listen"],
  ...["server.database", "server.database_env", "server.database_connections"],
  ...["server.valkey", "server.valkey_env", "server.tls.cert", "server.tls.key"],
];

/** Hashes what processes on the same data should have in common, without secrets. */
export function hashSettings(settings: Settings): string | null {
  if (!sources.has(settings)) return null;
  const rows = listSettings(settings).filter(({ name }) => !OF_MACHINE.includes(name));
  const text = JSON.stringify(rows.map(({ name, value }) => [name, value]));
  return new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, HASH_DIGITS);
}

const HASH_DIGITS = 12;
const HIDDEN = "***";

type TableValues = Readonly<Record<string, unknown>>;

/** A place in the table with what the file says there, and what is in force. */
interface SettingPlace {
  field: Field;
  name: string;
  inFile: unknown;
  inForce: unknown;
  /** Value without the file. */
  without: unknown;
}

class SettingWalk {
  readonly #settings: Settings;
  readonly #source: Source;
  readonly #rows: SettingRow[];

  constructor(settings: Settings, source: Source, rows: SettingRow[]) {
    this.#settings = settings;
    this.#source = source;
    this.#rows = rows;
  }

  list(): void {
    const { file } = this.#source;
    this.#walk({ field: Table, name: "", inFile: file, inForce: this.#settings, without: {} });
  }

  #walk(place: SettingPlace): void {
    const { field, inForce } = place;
    const table = field.anyOf && findVariant(field.anyOf, inForce);
    if (field.properties) this.#walkTable(field.properties, place);
    else if (field.items?.properties) this.#walkModels(field.items, place);
    else if (table?.properties) this.#walkTable(table.properties, place);
    else this.#add(place);
  }

  #walkTable(fields: Readonly<Record<string, Field>>, place: SettingPlace): void {
    for (const [key, field] of Object.entries(fields)) {
      const name = joinPath(place.name, key);
      const at = (values: unknown) => (values as TableValues | undefined)?.[key];
      const without = at(place.without) ?? field.default;
      const inFile = at(place.inFile);
      this.#walk({ field, name, inFile, inForce: at(place.inForce), without });
    }
  }

  #walkModels(field: Field, { name, inFile, without }: SettingPlace): void {
    for (const [at, model] of this.#settings.models.entries()) {
      const written = (inFile as readonly unknown[] | undefined)?.[at];
      const given = written === undefined ? (without as readonly unknown[])[at] : {};
      const id = joinPath(name, model.id);
      this.#walk({ field, name: id, inFile: written, inForce: model, without: given });
    }
  }

  #add(place: SettingPlace): void {
    const { field, name } = place;
    const kept = this.#source.kept.get(name);
    if (kept) {
      this.#rows.push(kept);
      return;
    }
    const { value, origin } = this.#resolve(place);
    const shown = redact(field, value, this.#source.env);
    this.#rows.push({ name, value: shown, origin, needs_restart: field.restart === true });
  }

  #resolve(place: SettingPlace): Pick<SettingRow, "value" | "origin"> {
    const { name, inFile, inForce, without } = place;
    const override = this.#source.overrides.get(name);
    const origin = override ? originOf(override.name) : inFile === undefined ? "default" : "file";
    const value = override?.value ?? inFile ?? without ?? null;
    if (name === "egress.allow") {
      const allowed = this.#settings.egress.allow.map(writeAllowEntry);
      const isLonger = allowed.length > (value as readonly unknown[]).length;
      return { value: allowed, origin: isLonger ? "flag" : origin };
    }
    // The name of a variable stands in the file, and the address in the environment.
    const isAddress = /^server\.(database|database_pooler|valkey)$/.test(name);
    if (isAddress && inForce !== value) {
      return { value: inForce, origin: "environment" };
    }
    // An empty text may stand for another value, such as the first model; `wadi dev` has defaults
    // of its own.
    const isResolved = ["string", "number", "boolean"].includes(typeof value);
    return { value: isResolved && typeof inForce === typeof value ? inForce : value, origin };
  }
}

function originOf(name: string): SettingOrigin {
  return name.startsWith("WADI_") ? "environment" : "flag";
}

/** Finds the table that a value has, among several kinds; a value that is no table has none. */
function findVariant(variants: readonly Field[], value: unknown): Field | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { kind } = value as { kind?: unknown };
  const tables = variants.filter(({ properties }) => properties);
  return tables.find(({ properties }) => properties!.kind?.const === kind) ?? tables[0];
}

/** Hides what may be a secret, or a secret in the wrong place. */
function redact(field: Field, value: unknown, env: Environment): unknown {
  if (Array.isArray(value)) return redactList(field.items ?? {}, value, env);
  if (field.patternProperties && typeof value === "object" && value !== null) {
    const inner = Object.values(field.patternProperties)[0]!;
    const entries = Object.entries(value).map(([name, one]) => [name, redact(inner, one, env)]);
    return Object.fromEntries(entries);
  }
  if (!field.unquoted || typeof value !== "string" || value === "") return value;
  switch (field.format) {
    case "variable":
      return env[value] === undefined ? HIDDEN : value;
    case "action": {
      const [method, address = ""] = value.split(/ +/);
      return `${method} ${redactUrl(address)}`;
    }
    case "database":
    case "link":
    case "probe":
    case "search":
    case "upstream":
    case "valkey":
      return redactUrl(value);
    case undefined:
      return existsSync(value) ? value : HIDDEN;
    default:
      return HIDDEN;
  }
}

/** Shows the program of a command, and none of its arguments. */
function redactList(item: Field, values: readonly unknown[], env: Environment): unknown[] {
  const isCommand = item.unquoted === true && item.format === undefined;
  if (isCommand) return values.map((value, at) => (at === 0 ? value : HIDDEN));
  return values.map((value) => redact(item, value, env));
}

function redactUrl(text: string): string {
  const url = URL.parse(text);
  if (!url) return HIDDEN;
  if (url.password) url.password = HIDDEN;
  if (url.search) url.search = HIDDEN;
  return url.href.replace(/\/$/, text.endsWith("/") ? "/" : "");
}
