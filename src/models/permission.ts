// Whether a key may call a model, may only know of it, or may not even see it.
import type { Caller } from "../access/index.ts";
import type { ModelSettings } from "../settings/index.ts";

/**
 * `hidden`: answered as if the model did not exist; `refused`: visible, but not permitted;
 * `unscoped`: permitted, but of no use to a key without the scope `think`.
 */
export type ModelPermission = "allowed" | "unscoped" | "refused" | "hidden";

/** What of a caller and a model decides; `granted`: the account has a grant for this model. */
export function authorizeModel(
  settings: Pick<ModelSettings, "id" | "visibility" | "self_hosted" | "think">,
  caller: Pick<Caller, "models" | "scopes">,
  granted: boolean,
): ModelPermission {
  // gateway.authentication.8: internal models nobody sees, private ones only with a grant.
  if (settings.visibility === "internal") return "hidden";
  if (settings.visibility === "private" && !granted) return "hidden";
  // gateway.authentication.5: a key's list narrows what its account may call and never widens it.
  if (caller.models !== null && !caller.models.includes(settings.id)) return "refused";
  // gateway.authentication.6: the servers of others need a grant, whoever may see them.
  if (!settings.self_hosted && !granted) return "refused";
  // gateway.endpoints.chat_completions.7: without the scope no call of it can succeed.
  if (settings.think === "required" && !caller.scopes.includes("think")) return "unscoped";
  return "allowed";
}

/** A grant can only change the verdict on these. */
export function needsGrant(settings: Pick<ModelSettings, "visibility" | "self_hosted">): boolean {
  return settings.visibility === "private" || !settings.self_hosted;
}
