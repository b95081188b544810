// The verbs of `wadi agents`.
import { Hold, ListedAgent } from "../operator/index.ts";
import { show } from "../platform/shape.ts";
import { administer } from "./administration.ts";
import { drawRow, drawTable, type Output } from "./output.ts";
import { quoteWhole } from "./quotation.ts";
import { type Given, readText } from "./verb.ts";

const COLUMNS = [
  ...["id", "account", "slug", "name", "status", "current_version", "created_at"],
  ...["held", "held_since", "hold_reason"],
];

export async function listAgents(given: Given, output: Output): Promise<number> {
  const account = readText(given, "account") ?? null;
  const found = await administer(given, ({ agents }) => agents.list(account));
  const rows = found.map((agent) => show(ListedAgent, agent));
  // A caller's name may break a line: for people each agent has one.
  const lines = rows.map((row) => ({ ...row, name: quoteWhole(row.name) }));
  output.print(rows, drawTable(lines, COLUMNS));
  return 0;
}

export async function holdAgent(given: Given, output: Output): Promise<number> {
  const reason = readText(given, "reason") ?? null;
  const held = await administer(given, ({ agents }) => agents.hold(given.args[0]!, reason));
  const row = show(Hold, held);
  output.print(row, drawRow(row));
  return 0;
}

export async function releaseAgent(given: Given, output: Output): Promise<number> {
  const { id, was_held } = await administer(given, ({ agents }) => agents.release(given.args[0]!));
  if (!was_held) output.say("it was not held");
  const row = { agent: id, held: false };
  output.print(row, drawRow(row));
  return 0;
}
