// Joins what the operator may do, on the houses of an app or on those opened for one verb.
import type { Access } from "../access/index.ts";
import type { Grants } from "../models/index.ts";
import type { Clock } from "../platform/clock.ts";
import { createAccountVerbs } from "./accounts.ts";
import { createDevKeys } from "./dev-keys.ts";
import { welcome } from "./first-start.ts";
import { createKeyVerbs } from "./keys.ts";

export interface OperatorOptions {
  access: Access;
  grants: Grants;
  clock: Clock;
  /** Ids of the models in the settings: model lists and grants may name these. */
  models: readonly string[];
}

export function buildOperator({ access, grants, clock, models }: OperatorOptions) {
  const { require: requireAccount, ...accounts } = createAccountVerbs({ access, grants, models });
  return {
    accounts,
    keys: createKeyVerbs({ access, clock, models, requireAccount }),
    /** `wadi dev`: makes the fixed keys that are not there yet; returns those beside `first`. */
    createDevKeys: (first: string): Promise<string[]> => createDevKeys(access, clock, first),
    /** `wadi serve`: of a first start, the secret of the one key; undefined: it was no first. */
    welcome: (): Promise<string | undefined> => welcome(access),
  };
}
export type Operator = ReturnType<typeof buildOperator>;
