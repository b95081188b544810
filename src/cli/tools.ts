// `wadi tools`: tools that accounts have registered, and their switch.
import { type Admin, ListedTool } from "../admin/index.ts";
import { show } from "../platform/schema.ts";
import { administer } from "./admin.ts";
import { account, type Command, type CommandInput, readText, UsageError } from "./command.ts";
import { drawRow, drawTable, type Output, type OutputRow } from "./output.ts";
import { quote } from "./quotation.ts";

const COLUMNS = [
  ...["name", "account", "status", "revision", "risk", "endpoint", "connection_id"],
  ...["timeout_ms", "external_content", "idempotent", "created_at"],
];

export async function listTools(input: CommandInput, output: Output): Promise<number> {
  const account = readText(input, "account") ?? null;
  const found = await administer(input, ({ tools }) => tools.list(account));
  const rows = found.map((tool) => show(ListedTool, tool));
  output.print(rows, drawTable(rows, COLUMNS));
  return 0;
}

/** Performs one command on a tool and shows the result. */
export async function runToolCommand(
  input: CommandInput,
  output: Output,
  act: "show" | "disable" | "enable",
): Promise<number> {
  const account = readText(input, "account");
  if (account === undefined) throw new UsageError(`tools ${act} takes --account NAME`);
  const work = ({ tools }: Admin) => tools[act](input.args[0]!, account);
  const row = show(ListedTool, await administer(input, work));
  output.print(row, drawRow(quoteTexts(row)));
  return 0;
}

/** For people a caller's texts are on one line each. */
function quoteTexts(row: OutputRow): OutputRow {
  const { title, description, parameters } = row;
  return {
    ...row,
    title: title === null ? null : quote(title),
    description: quote(description),
    parameters: quote(JSON.stringify(parameters)),
  };
}

function createToolCommand(act: "show" | "disable" | "enable", help: string): Command {
  return {
    name: `tools ${act}`,
    args: ["NAME"],
    flags: { account },
    help,
    example: `wadi tools ${act} lookup_order --account acme`,
    run: (input, output) => runToolCommand(input, output, act),
  };
}

export const commands: readonly Command[] = [
  {
    name: "tools list",
    args: [],
    flags: { account },
    help: "List the tools that accounts have registered",
    example: "wadi tools list --account acme",
    run: listTools,
  },
  createToolCommand("show", "Show a tool as runs call it"),
  createToolCommand("disable", "Keep runs from calling a tool"),
  createToolCommand("enable", "Let runs call a disabled tool again"),
];
