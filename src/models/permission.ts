// Permission to see and call a model, and the grants that decide it.
import type { Caller } from "../access/index.ts";
import type { Database } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { ModelSettings } from "../settings/index.ts";
import { modelStore } from "./store.ts";

/**
 * `hidden`: as if the model did not exist · `refused`: visible, but not permitted · `unscoped`:
 * permitted, but the model always thinks and the key lacks the scope `think`.
 */
export type ModelPermission = "allowed" | "unscoped" | "refused" | "hidden";

/** `granted`: the account has a grant for this model. */
export function authorizeModel(
  settings: Pick<ModelSettings, "id" | "visibility" | "self_hosted" | "think">,
  caller: Pick<Caller, "models" | "scopes">,
  granted: boolean,
): ModelPermission {
  // gateway.authentication.8: internal models are hidden, private ones without a grant.
  if (settings.visibility === "internal") return "hidden";
  if (settings.visibility === "private" && !granted) return "hidden";
  // gateway.authentication.5: a key's list narrows what its account may call and never widens it.
  if (caller.models !== null && !caller.models.includes(settings.id)) return "refused";
  // gateway.authentication.6: other owners' servers need a grant, even where the model is visible.
  if (!settings.self_hosted && !granted) return "refused";
  // gateway.endpoints.chat_completions.7: without the scope no call of it can succeed.
  if (settings.think === "required" && !caller.scopes.includes("think")) return "unscoped";
  return "allowed";
}

export function needsGrant(settings: Pick<ModelSettings, "visibility" | "self_hosted">): boolean {
  return settings.visibility === "private" || !settings.self_hosted;
}

/** Reads permissions anew each time, for callers without the registry of a server. */
export function createPermissions(database: Database) {
  const store = database.bind(modelStore);
  return async (settings: ModelSettings, caller: Caller): Promise<ModelPermission> => {
    const status = await store.find(settings.id, caller.account_id);
    return authorizeModel(settings, caller, status?.is_granted ?? false);
  };
}

/** Grants and revokes, in force from the account's next request on (gateway.authentication.6). */
export function createGrants(database: Database, clock: Clock) {
  const store = database.bind(modelStore);
  return {
    grant: (account_id: string, model: string) => store.grant(account_id, model, clock.now()),
    ungrant: (account_id: string, model: string) => store.ungrant(account_id, model),
    list: store.listGrants,
  };
}
