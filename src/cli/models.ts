// The verbs of `wadi models`.
import { ListedModel, type Turn } from "../operator/index.ts";
import { show } from "../platform/shape.ts";
import { administer } from "./administration.ts";
import { drawRow, drawTable, type Output } from "./output.ts";
import type { Given } from "./verb.ts";

const COLUMNS = [
  ...["id", "state", "provider", "self_hosted", "visibility", "context_window"],
  ...["max_output_tokens", "capabilities", "upstream", "unit", "start_ms", "first_seen_at"],
];

export async function listModels(given: Given, output: Output): Promise<number> {
  const found = await administer(given, ({ models }) => models.list());
  const rows = found.map((model) => show(ListedModel, model));
  const marked = rows.map((row) => (row.is_default ? { ...row, id: `${row.id} (default)` } : row));
  output.print(rows, drawTable(marked, COLUMNS));
  return 0;
}

/** `off`, `on`, `block` and `unblock`. */
export async function turnModel(given: Given, output: Output, turn: Turn): Promise<number> {
  const model = await administer(given, ({ models }) => models.turn(given.args[0]!, turn));
  const { id, state } = model;
  // The other switch: what was taken back is not all that keeps it from serving.
  if (turn === "on" && state !== "on")
    output.say(`it stays blocked: \`wadi models unblock ${id}\``);
  if (turn === "unblock" && state !== "on") output.say(`it stays off: \`wadi models on ${id}\``);
  if (model.is_default && state !== "on") {
    output.say("it is the default model: requests that name no other are refused");
  }
  const row = show(ListedModel, model);
  output.print(row, drawRow(row));
  return 0;
}
