// Other settings while serving: which of them count at once, which wait for a start, and in short
// what changes.
import { shorten } from "../platform/text.ts";
import { type Field, listFields } from "./field.ts";
import { SettingsError } from "./problem.ts";
import { listAliases, type ModelSettings, SERVICES, type Settings } from "./settings.ts";
import { Table } from "./table.ts";

/** How many models a line names before it only counts. */
const NAMED_MAX = 8;

export interface TakenOver {
  /** What is in force from now on. */
  settings: Settings;
  /** Paths of what was changed as well, and keeps its value until the next start. */
  kept: readonly string[];
}

/** Takes over what may change while serving; throws a SettingsError where that does not fit. */
export function takeOver(before: Settings, read: Settings): TakenOver {
  const kept: string[] = [];
  let settings = read;
  for (const [path, field] of listFields(Table)) {
    const names = nameSteps(path, field);
    const value = lookUp(before, names);
    if (field.reloads || Bun.deepEquals(value, lookUp(read, names))) continue;
    settings = replace(settings, names, value) as Settings;
    kept.push(path);
  }
  // It was looked for among the models with the alias that they were read with.
  const taken = listAliases(settings.service.alias);
  const model = settings.models.find(({ id }) => taken.includes(id));
  if (model) {
    throw new SettingsError(
      `the model ${model.id} has the name of the alias, which changes only with a restart`,
    );
  }
  return { settings, kept };
}

/** What differs, in one line without any value that could be secret; "": nothing does. */
export function describeChange(before: Settings, after: Settings): string {
  const parts = describeModels(before.models, after.models);
  for (const [path, field] of listFields(Table)) {
    const names = nameSteps(path, field);
    const [old, now] = [lookUp(before, names), lookUp(after, names)];
    if (Bun.deepEquals(old, now)) continue;
    parts.push(path.startsWith("limits.") ? `${path} ${old} -> ${now}` : path);
  }
  // No setting of its own: the place that holds it is the same, and what it holds is another.
  for (const name of SERVICES) {
    if (before[name].api_key !== after[name].api_key) parts.push(`${name}.api_key`);
  }
  return parts.join("; ");
}

function describeModels(before: readonly ModelSettings[], after: readonly ModelSettings[]) {
  const old = new Map(before.map((model) => [model.id, model]));
  const ids = new Set(after.map((model) => model.id));
  const changed = after.flatMap((model) => {
    const was = old.get(model.id);
    const fields = was ? listDifferences(was, model) : [];
    return fields.length > 0 ? [`${model.id} (${fields.join(", ")})`] : [];
  });
  const stayed = (models: readonly ModelSettings[]) =>
    models.flatMap(({ id }) => (old.has(id) && ids.has(id) ? [id] : []));
  const isReordered = !Bun.deepEquals(stayed(before), stayed(after));
  return [
    ...nameModels(
      "models added",
      [...ids].filter((id) => !old.has(id)),
    ),
    ...nameModels(
      "models removed",
      [...old.keys()].filter((id) => !ids.has(id)),
    ),
    ...nameModels("models changed", changed),
    ...(isReordered ? ["the order of the models"] : []),
  ];
}

function listDifferences(was: ModelSettings, is: ModelSettings): string[] {
  const names = Object.keys(is) as (keyof ModelSettings)[];
  return names.filter((name) => !Bun.deepEquals(was[name], is[name]));
}

function nameModels(what: string, ids: readonly string[]): string[] {
  if (ids.length === 0) return [];
  const more = ids.length > NAMED_MAX ? ` and ${ids.length - NAMED_MAX} more` : "";
  return [
    `${what}: ${ids
      .slice(0, NAMED_MAX)
      .map((id) => shorten(id))
      .join(", ")}${more}`,
  ];
}

/** From name to name as the program reads them: a duration is called otherwise than in the file. */
function nameSteps(path: string, { format }: Field): string[] {
  return (format === "duration" ? `${path}_ms` : path).split(".");
}

function lookUp(settings: object, names: readonly string[]): unknown {
  return names.reduce<unknown>((value, name) => (value as Fields)[name], settings);
}

/** The same with another value there; what it is made of is left as it is. */
function replace(settings: object, [name, ...rest]: readonly string[], value: unknown): object {
  const inner = rest.length === 0 ? value : replace((settings as Fields)[name!]!, rest, value);
  return Object.freeze({ ...settings, [name!]: inner });
}

type Fields = Readonly<Record<string, object>>;
