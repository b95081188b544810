// How a new version comes of the one before it: what a request does not send stays as it was.
import {
  type Budgets,
  DEFAULT_BUDGETS,
  DEFAULT_MODEL_PARAMS,
  DEFAULT_POLICY,
  type ModelParams,
  type Policy,
  type ToolPin,
  type VersionRow,
} from "./version.ts";

/** What a version makes an agent do. */
export type Behaviour = Pick<
  VersionRow,
  "system_prompt" | "model" | "tools" | "policy" | "budgets" | "model_params"
>;

/** Some fields of an object; null: the field's default. */
type Part<T> = { [K in keyof T]?: T[K] | null };

/** What a request says of a version: left out is inherited, null is the default. */
export interface Change {
  system_prompt?: string;
  /** null: the default model. */
  model?: string | null;
  tools?: string[] | null;
  policy?: Part<Policy> | null;
  budgets?: Part<Budgets> | null;
  model_params?: Part<ModelParams> | null;
}

/** What a first version inherits: a prompt it always brings itself. */
export const DEFAULT_BEHAVIOUR: Behaviour = {
  system_prompt: "",
  model: null,
  tools: [],
  policy: DEFAULT_POLICY,
  budgets: DEFAULT_BUDGETS,
  model_params: DEFAULT_MODEL_PARAMS,
};

/** agents.does.version: every field by itself, and those of its objects, too. */
export function inherit(old: Behaviour, change: Change): Behaviour {
  return {
    system_prompt: change.system_prompt ?? old.system_prompt,
    model: change.model === undefined ? old.model : change.model,
    tools: change.tools === undefined ? old.tools : (change.tools ?? []),
    policy: inheritFields(old.policy, change.policy, DEFAULT_POLICY),
    budgets: inheritFields(old.budgets, change.budgets, DEFAULT_BUDGETS),
    model_params: inheritFields(old.model_params, change.model_params, DEFAULT_MODEL_PARAMS),
  };
}

/**
 * Whether what is to be inherited is still what is pinned now: of tools that the account has
 * registered in the same revisions, of built-in ones by name.
 */
export function isPinnedAlike(pins: readonly ToolPin[], now: readonly ToolPin[]): boolean {
  const write = ({ name, kind, revision }: ToolPin) =>
    kind === "http" ? `${name} ${revision}` : name;
  return pins.map(write).join() === now.map(write).join();
}

/** The fields are those of the defaults: what an older program stored may lack the newest. */
function inheritFields<T extends object>(
  old: T,
  change: Part<T> | null | undefined,
  defaults: T,
): T {
  if (change === null) return { ...defaults };
  const names = Object.keys(defaults) as (keyof T)[];
  const fields = names.map((name) => {
    const sent = change?.[name];
    if (sent === undefined) return [name, old[name] ?? defaults[name]];
    return [name, sent ?? defaults[name]];
  });
  return Object.fromEntries(fields) as T;
}
