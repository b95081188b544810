// The operator's verbs on an empty database in memory, and the access house below them.
import { type Access, buildAccess } from "../../src/access/index.ts";
import { createGrants } from "../../src/models/index.ts";
import { buildOperator, type KeyWish, type Operator } from "../../src/operator/index.ts";
import { openDatabase } from "../../src/platform/database/index.ts";
import { stores } from "../../src/stores.ts";
import { createManualClock, type ManualClock } from "../support/clock.ts";
import { createSeededIds } from "../support/ids.ts";

export interface House {
  operator: Operator;
  access: Access;
  clock: ManualClock;
  close(): Promise<void>;
}

export async function openHouse(models: readonly string[] = ["stub-1"]): Promise<House> {
  const clock = createManualClock();
  const onFailure = (failure: unknown) => {
    throw failure;
  };
  const database = await openDatabase({ place: { kind: "memory" }, stores, clock, onFailure });
  const access = buildAccess({ database, clock, ids: createSeededIds(), alias: "svc" });
  const operator = buildOperator({ access, grants: createGrants(database, clock), clock, models });
  return { operator, access, clock, close: database.close };
}

/** A key that may do nothing special, of the account acme unless said otherwise. */
export function wish(fields: Partial<KeyWish> = {}): KeyWish {
  return {
    account: "acme",
    name: null,
    is_internal: false,
    scopes: [],
    models: null,
    max_output_tokens: null,
    lifetime_ms: null,
    ...fields,
  };
}
