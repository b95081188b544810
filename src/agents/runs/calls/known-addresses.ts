// The addresses that a run may open once it has read text from outside: those that stood, whole, in
// what the user wrote or in what came from elsewhere, and none that a model made up.
import type { Message, ToolCallText } from "../../threads/thread.ts";
import { KnownAddresses } from "../../tools/address-memory.ts";
import { bringsAddresses, mayEcho } from "../../tools/addresses.ts";
import type { RunState, StoredRunLog } from "../state.ts";
import type { ToolResultData } from "../step.ts";

/** Whoever cannot open one need not remember any. */
const OPENS_ADDRESSES = "read_page";
const READ_OUTPUT = "read_output";

/** What its thread has brought so far; null: the version cannot open addresses. */
export function recallAddresses(
  { version, row }: Pick<StoredRunLog, "version" | "row">,
  messages: readonly Message[],
): KnownAddresses | null {
  if (!version.tools.includes(OPENS_ADDRESSES)) return null;
  const known = new KnownAddresses();
  known.addInput(row.input.message);
  if (row.input.hook !== undefined) known.add(JSON.stringify(row.input.hook));
  const calls = new Map<string | null, ToolCallText>();
  for (const { run_id, role, content, external, tool_calls, tool_call_id } of messages) {
    for (const call of tool_calls ?? []) calls.set(call.id, call);
    if (content === null) continue;
    if (role === "user" && external) known.add(content);
    else if (role === "user") known.addInput(content);
    // The results of this run stand in its steps, which say more of them.
    if (role !== "tool" || run_id === row.id || !external) continue;
    const call = calls.get(tool_call_id);
    if (!call || call.name === READ_OUTPUT || !bringsAddresses(call.name)) continue;
    known.add(content, mayEcho(call.name) ? call.arguments : null);
  }
  return known;
}

/**
 * A result of this run. What the platform says itself may repeat what the model has just asked for:
 * only outside text counts, and what a tool of the account answered.
 */
export function rememberResult(
  { known, version, results, open }: RunState,
  { tool_call_id, name, outcome, external, content }: ToolResultData,
): void {
  if (known === null) return;
  const isHttp = version.tool_revisions.some((pin) => pin.name === name && pin.kind === "http");
  if (!external && !(isHttp && outcome === "ok")) return;
  const call = open.find((one) => one.call.tool_call_id === tool_call_id)?.call;
  if (name === READ_OUTPUT) {
    const read = (call?.arguments as { tool_call_id?: string } | undefined)?.tool_call_id;
    const source = results.get(read ?? "")?.name;
    // What may only be an echo brings nothing when it is read again.
    const isFound = source !== undefined && source !== READ_OUTPUT && bringsAddresses(source);
    if (!isFound || mayEcho(source)) return;
  } else if (!bringsAddresses(name)) return;
  known.add(content, mayEcho(name) ? JSON.stringify(call?.arguments ?? null) : null);
}
