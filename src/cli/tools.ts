// `wadi tools`: tools that accounts have registered, and their switch.
import { toolOperations as operations } from "../admin/index.ts";
import { account, type Command, readText, UsageError } from "./command.ts";
import { call } from "./operations.ts";
import { printRow, printTable, quote } from "./output.ts";

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
      const [name] = input.args as [string];
      const owner = readText(input, "account");
      if (owner === undefined) throw new UsageError(`tools ${action} takes --account NAME`);
      const row = await call(input, operations[action], { name, account: owner });
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
      const found = await call(input, operations.list, { account: readText(input, "account") });
      return printTable(output, found, COLUMNS);
    },
  },
  createToolCommand("show", "Show a tool as runs call it"),
  createToolCommand("disable", "Keep runs from calling a tool"),
  createToolCommand("enable", "Let runs call a disabled tool again"),
];
