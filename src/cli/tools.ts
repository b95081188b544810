// `wadi tools`: tools that accounts have registered, and their switch.
import { type Admin, ListedTool } from "../admin/index.ts";
import { show } from "../platform/schema.ts";
import { administer } from "./admin.ts";
import { account, type Command, readAccount, UsageError } from "./command.ts";
import { printRow, printRows, quote } from "./output.ts";

const COLUMNS = [
  ...["name", "account", "status", "revision", "risk", "endpoint", "connection_id"],
  ...["timeout_ms", "external_content", "idempotent", "created_at"],
];

function createToolCommand(action: "show" | "disable" | "enable", help: string): Command {
  return {
    name: `tools ${action}`,
    args: ["NAME"],
    flags: { account },
    help,
    example: `wadi tools ${action} lookup_order --account acme`,
    async run(input, output) {
      const owner = readAccount(input);
      if (owner === null) throw new UsageError(`tools ${action} takes --account NAME`);
      const work = ({ tools }: Admin) => tools[action](input.args[0]!, owner);
      const row = show(ListedTool, await administer(input, work));
      return printRow(output, row, {
        ...row,
        title: row.title === null ? null : quote(row.title),
        description: quote(row.description),
        parameters: quote(JSON.stringify(row.parameters)),
      });
    },
  };
}

export const commands: readonly Command[] = [
  {
    name: "tools list",
    flags: { account },
    help: "List the tools that accounts have registered",
    example: "wadi tools list --account acme",
    async run(input, output) {
      const found = await administer(input, ({ tools }) => tools.list(readAccount(input)));
      return printRows(output, ListedTool, found, COLUMNS);
    },
  },
  createToolCommand("show", "Show a tool as runs call it"),
  createToolCommand("disable", "Keep runs from calling a tool"),
  createToolCommand("enable", "Let runs call a disabled tool again"),
];
