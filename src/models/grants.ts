// Grants as the operator gives and takes them: the permission of an account for one model.

import type { Database } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import { modelStore } from "./store.ts";

/** In force from the account's next request on (gateway.authentication.6). */
export function createGrants(database: Database, clock: Clock) {
  const store = database.bind(modelStore);
  return {
    grant: (account_id: string, model: string) => store.grant(account_id, model, clock.now()),
    /** False: there was no such grant. */
    ungrant: (account_id: string, model: string) => store.ungrant(account_id, model),
  };
}
