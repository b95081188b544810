// Changes settings while serving: some take effect at once, others after a restart.
import { shorten } from "../platform/text.ts";
import { type Field, listFields } from "./fields.ts";
import { SettingsError } from "./problem.ts";
import { copySource } from "./setting-list.ts";
import { listAliases, type ModelSettings, SERVICES, type Settings } from "./settings.ts";
import { Table } from "./table.ts";

const NAMED_MAX = 8;

export interface AppliedSettings {
  settings: Settings;
  /** Paths of changed settings that keep their value until the next start. */
  pending: readonly string[];
}

/** Applies the changes that need no restart; throws a SettingsError where they do not fit. */
export function applySettings(before: Settings, read: Settings): AppliedSettings {
  const pending: string[] = [];
  let settings = read;
  for (const [path, field] of listFields(Table)) {
    const names = splitPath(path, field);
    const value = lookUp(before, names);
    if (!field.restart || Bun.deepEquals(value, lookUp(read, names))) continue;
    settings = replace(settings, names, value) as Settings;
    pending.push(path);
  }
  // The loader has compared the models with the new alias only.
  const taken = listAliases(settings.service.alias);
  const model = settings.models.find(({ id }) => taken.includes(id));
  if (model) {
    throw new SettingsError(
      `the model ${model.id} has the name of the alias, which changes only with a restart`,
    );
  }
  copySource(settings, read, before, pending);
  return { settings, pending };
}

/** Describes the differences in one line without secrets; empty where there are none. */
export function describeChange(before: Settings, after: Settings): string {
  const parts = describeModels(before.models, after.models);
  for (const [path, field] of listFields(Table)) {
    const names = splitPath(path, field);
    const [old, now] = [lookUp(before, names), lookUp(after, names)];
    if (Bun.deepEquals(old, now)) continue;
    parts.push(path.startsWith("limits.") ? `${path} ${old} -> ${now}` : path);
  }
  if (!Bun.deepEquals(before.server.certificate, after.server.certificate)) {
    parts.push("the certificate of the server");
  }
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
  const named = ids.slice(0, NAMED_MAX).map((id) => shorten(id));
  return [`${what}: ${named.join(", ")}${more}`];
}

function splitPath(path: string, { format }: Field): string[] {
  return (format === "duration" ? `${path}_ms` : path).split(".");
}

function lookUp(settings: object, names: readonly string[]): unknown {
  return names.reduce<unknown>((value, name) => (value as SettingsTree)[name], settings);
}

function replace(settings: object, [name, ...rest]: readonly string[], value: unknown): object {
  const inner =
    rest.length === 0 ? value : replace((settings as SettingsTree)[name!]!, rest, value);
  return Object.freeze({ ...settings, [name!]: inner });
}

type SettingsTree = Readonly<Record<string, object>>;
