// The operator's verbs alone, on data that a server may be running on: they load no server.
import { buildAccess } from "../access/index.ts";
import type { Clock } from "../platform/clock.ts";
import { openDatabase, type Place } from "../platform/database/index.ts";
import type { Ids } from "../platform/ids.ts";
import type { Settings } from "../platform/settings/index.ts";
import { stores } from "../stores.ts";
import { buildOperator, type Operator } from "./operator.ts";

export interface OpenOperatorOptions {
  settings: Settings;
  place: Place;
  clock: Clock;
  ids: Ids;
}

/** Opens them; the caller closes the database behind them. Throws a DatabaseUnusable. */
export async function openOperator({ settings, place, clock, ids }: OpenOperatorOptions) {
  const onFailure = (failure: unknown) => {
    throw failure;
  };
  const database = await openDatabase({ place, stores, clock, onFailure });
  const access = buildAccess({ database, clock, ids, alias: settings.service.alias });
  const operator: Operator = buildOperator({ settings, access, database, clock });
  return { operator, close: database.close };
}
