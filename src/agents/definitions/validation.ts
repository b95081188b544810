// Validates a version: its model for the key that creates it, and its tools.
import type { Caller } from "../../access/index.ts";
import type { ModelCheck } from "../../gateway/index.ts";
import { apiError } from "../../platform/errors.ts";
import { shorten } from "../../platform/text.ts";
import { listAliases, type ModelSettings } from "../../settings/index.ts";
import type { FindTools } from "../tools/catalog.ts";
import type { ToolPin } from "./version.ts";

/** Errors of a stopped model, which may be back before a run's turn comes. */
const TEMPORARY: readonly string[] = ["model_offline", "model_unavailable"];

export function storeModel(
  sent: string | null | undefined,
  alias: string,
): string | null | undefined {
  return typeof sent === "string" && listAliases(alias).includes(sent) ? null : sent;
}

/** agents.errors.p11: the key must be able to call the model; a stopped model is accepted. */
export async function requireModel(
  chat: ModelCheck,
  model: string | null,
  alias: string,
  caller: Caller,
): Promise<ModelSettings> {
  // Only the id tells a stopped model from an unreadable state.
  const found = chat.find(model ?? alias);
  // agents.errors.model_not_found
  if (!found) throw apiError("model_not_found", { param: "model" });
  const result = await chat.authorize(found.id, caller);
  // agents.errors.model_not_permitted, agents.errors.no_model_available
  if ("refusal" in result && !TEMPORARY.includes(result.refusal.code)) throw result.refusal;
  return found;
}

/** Without this, every run would fail at its first round. */
export function requireToolUse({ id, capabilities }: ModelSettings, tools: readonly string[]) {
  if (tools.length === 0 || capabilities.includes("tools")) return;
  const message = `The model ${shorten(id)} takes no tools.`;
  throw apiError("invalid_request", { param: "tools", message });
}

/**
 * Pins the present revisions, so that later ones change no version. Inherited registered tools keep
 * their pins, even when disabled or deleted, since this request did not name them.
 */
export function pinTools(
  find: FindTools,
  names: readonly string[],
  inherited: readonly ToolPin[],
): ToolPin[] {
  return names.map((name, i) => {
    const pin = inherited.find((one) => one.name === name);
    const found = find(name);
    if (pin) return pin.kind === "builtin" && found?.pin.kind === "builtin" ? found.pin : pin;
    if (!found) throw unknownTool(name, `tools.${i}`);
    // agents.errors: a change of a server is accepted before a version can pin it.
    if (found.isChanged) throw apiError("tool_changed", { param: `tools.${i}` });
    if (found.isOff) throw disabledTool(name, `tools.${i}`);
    return found.pin;
  });
}

/** A typo would leave the intended tool without its guard. */
export function requireGuarded(find: FindTools, names: readonly string[] | null | undefined): void {
  for (const [i, name] of (names ?? []).entries()) {
    if (!find(name)) throw unknownTool(name, `policy.require_approval.${i}`);
  }
}

function unknownTool(name: string, param: string) {
  const message = `There is no tool ${JSON.stringify(shorten(name))}.`;
  return apiError("invalid_request", { param, message });
}

function disabledTool(name: string, param: string) {
  const message = `The tool ${JSON.stringify(shorten(name))} is switched off.`;
  return apiError("invalid_request", { param, message });
}
