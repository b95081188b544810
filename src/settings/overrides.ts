// What environment and flags say over the file: WADI_SERVER__PORT=9000 is `port` of [server].
import { type Field, listFields } from "./field.ts";
import { findNearest } from "./nearest.ts";
import { type Overrides, SettingsError } from "./problem.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The overrides of a table. A variable is text: numbers, true and false are read from it, a list is
 * separated by commas; models are declared in the file only. A flag has its value already. Throws a
 * SettingsError for a variable with `WADI_` and `__` that belongs to no setting.
 */
export function readOverrides(
  table: Field,
  env: Environment,
  flags: Readonly<Record<string, unknown>>,
): Overrides {
  const fields = listFields(table);
  const overrides = new Map<string, { name: string; value: unknown }>();
  const byVariable = new Map(fields.map(([path, field]) => [nameVariable(path), { path, field }]));
  for (const [name, text] of Object.entries(env)) {
    if (text === undefined || !/^WADI_.*__/s.test(name)) continue;
    const known = byVariable.get(name);
    if (!known) throw refuseVariable(name, byVariable.keys());
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

function refuseVariable(name: string, known: Iterable<string>): SettingsError {
  if (name.startsWith("WADI_MODELS__")) {
    return new SettingsError(`${name} cannot be set: models are declared in the file only`);
  }
  const nearest = findNearest(name, known);
  const hint = nearest === undefined ? "" : `; did you mean ${nearest}?`;
  return new SettingsError(`${name} is the variable of no setting${hint}`);
}

/** The value of a variable; a text that does not fit stays text, which the reader then refuses. */
function readVariable(field: Field, text: string): unknown {
  if (field.type === "array") return text === "" ? [] : text.split(",").map((item) => item.trim());
  if (field.type === "boolean") return text === "true" || (text === "false" ? false : text);
  const isNumber = field.type === "integer" || field.type === "number";
  return isNumber && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
