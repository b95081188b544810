// What code judges of a version: its model for the key that makes it, and its tools.
import type { Caller } from "../../access/index.ts";
import type { GatewayInternal } from "../../gateway/index.ts";
import { apiError } from "../../platform/errors.ts";
import { shorten } from "../../platform/text.ts";
import { listAliases, type ModelSettings } from "../../settings/index.ts";
import type { FindTools } from "../tools/catalog.ts";
import type { ToolPin } from "./version.ts";

/** What says that a model is stopped now: versions and runs wait for it. */
const PASSING: readonly string[] = ["model_offline", "model_unavailable"];

/** As it is stored: null for the default model, by whichever of its names. */
export function storeModel(
  sent: string | null | undefined,
  alias: string,
): string | null | undefined {
  return typeof sent === "string" && listAliases(alias).includes(sent) ? null : sent;
}

/**
 * agents.errors.p11: the key must be able to call the model, of a new version as of a run. One that
 * is stopped or blocked is no reason to refuse: it may be back before the run's turn comes.
 */
export async function requireModel(
  chat: Pick<GatewayInternal["chat"], "find" | "judge">,
  model: string | null,
  alias: string,
  caller: Caller,
): Promise<ModelSettings> {
  // By its id: an alias would not say whether its model is stopped or its state unreadable.
  const found = chat.find(model ?? alias);
  // agents.errors.model_not_found
  if (!found) throw apiError("model_not_found", { param: "model" });
  const judged = await chat.judge(found.id, caller);
  // agents.errors.model_not_permitted, agents.errors.no_model_available
  if ("refusal" in judged && !PASSING.includes(judged.refusal.code)) throw judged.refusal;
  return found;
}

/** Each run of such a version would fail at its first round. */
export function requireToolUse({ id, capabilities }: ModelSettings, tools: readonly string[]) {
  if (tools.length === 0 || capabilities.includes("tools")) return;
  const message = `The model ${shorten(id)} takes no tools.`;
  throw apiError("invalid_request", { param: "tools", message });
}

/**
 * The tools as they are now, so that no later revision changes what a version does. An inherited
 * one that the account registered stays as it was pinned, whatever became of it, and so does one
 * that is not there any more: nobody asked for it now.
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
    if (!found) throw refuseTool(name, `tools.${i}`);
    if (found.isOff) throw refuseSwitchedOff(name, `tools.${i}`);
    return found.pin;
  });
}

/** A slip in such a name would leave the tool that was meant without its guard. */
export function requireGuarded(find: FindTools, names: readonly string[] | null | undefined): void {
  for (const [i, name] of (names ?? []).entries()) {
    if (!find(name)) throw refuseTool(name, `policy.require_approval.${i}`);
  }
}

function refuseTool(name: string, param: string) {
  const message = `There is no tool ${JSON.stringify(shorten(name))}.`;
  return apiError("invalid_request", { param, message });
}

function refuseSwitchedOff(name: string, param: string) {
  const message = `The tool ${JSON.stringify(shorten(name))} is switched off.`;
  return apiError("invalid_request", { param, message });
}
