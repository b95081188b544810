// The verbs of `wadi tools`: what accounts have registered, one, and its switch.
import { ListedTool, type Operator } from "../operator/index.ts";
import { show } from "../platform/shape.ts";
import { administer } from "./administration.ts";
import { drawRow, drawTable, type Output, type Row } from "./output.ts";
import { quote } from "./quotation.ts";
import { type Given, readText, UsageProblem } from "./verb.ts";

const COLUMNS = [
  ...["name", "account", "status", "revision", "risk", "endpoint", "connection_id"],
  ...["timeout_ms", "external_content", "idempotent", "created_at"],
];

export async function listTools(given: Given, output: Output): Promise<number> {
  const account = readText(given, "account") ?? null;
  const found = await administer(given, ({ tools }) => tools.list(account));
  const rows = found.map((tool) => show(ListedTool, tool));
  output.print(rows, drawTable(rows, COLUMNS));
  return 0;
}

/** Shows it, as it is behind what is done with it. */
export async function workTool(
  given: Given,
  output: Output,
  act: "show" | "disable" | "enable",
): Promise<number> {
  const account = readText(given, "account");
  if (account === undefined) throw new UsageProblem(`tools ${act} takes --account NAME`);
  const work = ({ tools }: Operator) => tools[act](given.args[0]!, account);
  const row = show(ListedTool, await administer(given, work));
  output.print(row, drawRow(quoteTexts(row)));
  return 0;
}

/** For people a caller's texts are on one line each. */
function quoteTexts(row: Row): Row {
  const { title, description, parameters } = row;
  return {
    ...row,
    title: title === null ? null : quote(title),
    description: quote(description),
    parameters: quote(JSON.stringify(parameters)),
  };
}
