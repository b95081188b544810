// Accounts, keys, who a caller is, and how often one may ask.

import type { Database } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import { createAccounts } from "./accounts.ts";
import { createFindCaller, createIdentify } from "./caller.ts";
import { createHolds } from "./holds/holds.ts";
import { holdStore } from "./holds/store.ts";
import { createKeys } from "./keys.ts";
import { accountStore, keyStore } from "./store.ts";

export { Account } from "./account.ts";
export { accountOf, type Caller, type FindCaller, type Identify, isInternal } from "./caller.ts";
export { Hold, type HoldRow } from "./holds/hold.ts";
export { Key } from "./key.ts";
export { createKeyRevocations, type KeyRevocations } from "./key-revocation.ts";
export type { RotatedKey } from "./keys.ts";
export { createLimiter, type Limiter, type ReloadableLimiter } from "./rate-limit.ts";
export { requireScope, SCOPES, type Scope } from "./scopes.ts";

export interface AccessOptions {
  database: Database;
  clock: Clock;
  ids: Ids;
  /** Secrets begin with it. */
  alias: string;
}

export function buildAccess({ database, clock, ids, alias }: AccessOptions) {
  const accounts = database.bind(accountStore);
  const keys = database.bind(keyStore);
  return {
    identify: createIdentify(keys, clock),
    findCaller: createFindCaller(keys, clock),
    accounts: createAccounts(accounts, { clock, ids, alias }),
    keys: createKeys(keys, { clock, ids, alias }),
    holds: createHolds(database.bind(holdStore), clock),
  };
}
export type Access = ReturnType<typeof buildAccess>;
