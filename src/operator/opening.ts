// The operator's verbs alone, on data that a server may be running on: they load no server.
import { buildAccess } from "../access/index.ts";
import type { Clock } from "../platform/clock.ts";
import { DatabaseUnavailable, openDatabase, type Place } from "../platform/database/index.ts";
import type { Ids } from "../platform/ids.ts";
import { createSecrets } from "../platform/secrets/secrets.ts";
import type { Settings } from "../platform/settings/index.ts";
import { stores } from "../stores.ts";
import { buildOperator, type Operator } from "./operator.ts";

export interface OpenOperatorOptions {
  settings: Settings;
  place: Place;
  clock: Clock;
  ids: Ids;
  /** Only verbs that need it look at it; null: a key for as long as the operator is open. */
  secrets_key_file: string | null;
  /** Told what is wrong with the secrets key, in a sentence. */
  warn(why: string): void;
}

/** Opens them; the caller closes the database behind them. Throws a DatabaseUnusable. */
export async function openOperator(options: OpenOperatorOptions) {
  const { settings, place, clock, ids, secrets_key_file: file, warn } = options;
  const onFailure = (failure: unknown) => {
    // The verb itself fails with it.
    if (!(failure instanceof DatabaseUnavailable)) throw failure;
  };
  const database = await openDatabase({ place, stores, clock, onFailure });
  const access = buildAccess({ database, clock, ids, alias: settings.service.alias });
  const secrets = createSecrets({ database, file, clock, log: { warn, info: warn } });
  const operator: Operator = buildOperator({ settings, access, database, clock, ids, secrets });
  return { operator, close: database.close };
}
