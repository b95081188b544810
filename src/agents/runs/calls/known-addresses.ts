// The addresses that a run may open after it has read content from outside: those that the user
// wrote or a source brought, and none that a model made up.
import type { VersionRow } from "../../definitions/version.ts";
import type { Message, ToolCallText } from "../../threads/thread.ts";
import { KnownAddresses } from "../../tools/address-memory.ts";
import { bringsAddresses, mayEcho } from "../../tools/addresses.ts";
import type { RunRow } from "../run.ts";
import type { ToolResultData } from "../step.ts";
import type { OpenCall } from "./open-calls.ts";

/** Runs without this tool open no addresses and remember none. */
const OPENS_ADDRESSES = "read_page";
/** Reads earlier results again, so that its results are no new sources. */
export const READ_OUTPUT = "read_output";

/** Collects the addresses of the thread; null where the version cannot open any. */
export function recallAddresses(
  { version, row }: { version: VersionRow; row: RunRow },
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
    // Results of this run are read from its steps, which say more about them.
    if (role !== "tool" || run_id === row.id || !external) continue;
    const call = calls.get(tool_call_id);
    if (!call || call.name === READ_OUTPUT || !bringsAddresses(call.name)) continue;
    known.add(content, mayEcho(call.name) ? call.arguments : null);
  }
  return known;
}

interface AddressState {
  knownAddresses: KnownAddresses | null;
  version: VersionRow;
  results: ReadonlyMap<string, ToolResultData>;
  openCalls: readonly OpenCall[];
}

/**
 * Adds the addresses of a result. Texts of the platform may repeat the model's own words. So only
 * outside content and results of the account's own tools count.
 */
export function rememberResult(
  { knownAddresses, version, results, openCalls }: AddressState,
  { tool_call_id, name, outcome, external, content }: ToolResultData,
): void {
  if (knownAddresses === null) return;
  const pin = version.tool_revisions.find((one) => one.name === name);
  const isOwn = pin !== undefined && pin.kind !== "builtin";
  if (!external && !(isOwn && outcome === "ok")) return;
  const call = openCalls.find((one) => one.call.tool_call_id === tool_call_id)?.call;
  if (name === READ_OUTPUT) {
    const read = (call?.arguments as { tool_call_id?: string } | undefined)?.tool_call_id;
    const source = results.get(read ?? "")?.name;
    // A possible echo adds nothing when it is read again.
    const isFound = source !== undefined && source !== READ_OUTPUT && bringsAddresses(source);
    if (!isFound || mayEcho(source)) return;
  } else if (!bringsAddresses(name)) return;
  knownAddresses.add(content, mayEcho(name) ? JSON.stringify(call?.arguments ?? null) : null);
}
