// Joins what the operator may do, on the houses of an app or on those opened for one verb.
import type { Access } from "../access/index.ts";
import type { Clock } from "../platform/clock.ts";
import { createAccountVerbs } from "./accounts.ts";
import { createDevKeys } from "./dev-keys.ts";
import { welcome } from "./first-start.ts";
import { createKeyVerbs } from "./keys.ts";

export interface OperatorOptions {
  access: Access;
  clock: Clock;
  /** Ids of the models in the settings: a key's model list may name these. */
  models: readonly string[];
}

export function buildOperator({ access, clock, models }: OperatorOptions) {
  const accounts = createAccountVerbs(access);
  return {
    accounts: { list: accounts.list, create: accounts.create },
    keys: createKeyVerbs({ access, clock, models, requireAccount: accounts.require }),
    /** `wadi dev`: makes the fixed keys that are not there yet; returns those beside `first`. */
    createDevKeys: (first: string): Promise<string[]> => createDevKeys(access, clock, first),
    /** `wadi serve`: of a first start, the secret of the one key; undefined: it was no first. */
    welcome: (): Promise<string | undefined> => welcome(access),
  };
}
export type Operator = ReturnType<typeof buildOperator>;
