// `wadi tools`: tools that accounts have registered, and their switch.
import { toolOperations as operations, RISKS } from "../admin/index.ts";
import { parseJson } from "../platform/json.ts";
import { account, type Command, type CommandInput, readText, UsageError } from "./command.ts";
import { drawLineDiff } from "./line-diff.ts";
import { call } from "./operations.ts";
import {
  drawRow,
  layOutTable,
  type Output,
  type OutputRow,
  printRow,
  printTable,
  quote,
} from "./output.ts";

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
      return printTool(output, await call(input, operations[action], readNamed(input, action)));
    },
  };
}

const SERVER_COLUMNS = [
  ...["id", "account", "name", "url", "protocol_version", "title", "problem", "refreshed_at"],
  ...["tools", "changed", "connection", "connection_id", "timeout_ms", "created_at"],
];

const SERVER_TOOL_COLUMNS = [
  ...["name", "status", "revision", "accepted_revision", "risk", "changes"],
];

/** Texts of servers could control the terminal. */
const quoteServer = (row: OutputRow): OutputRow => ({
  ...row,
  title: row.title === null ? null : quote(row.title),
  problem: row.problem === null ? null : quote(row.problem),
});

function readNamed(input: CommandInput, action: string): { name: string; account: string } {
  const owner = readText(input, "account");
  if (owner === undefined) throw new UsageError(`tools ${action} takes --account NAME`);
  return { name: input.args[0]!, account: owner };
}

function printTool(output: Output, row: OutputRow): number {
  return printRow(output, row, {
    ...row,
    title: row.title === null ? null : quote(row.title),
    description: quote(row.description),
    parameters: quote(JSON.stringify(row.parameters)),
  });
}

type ShownTool = Awaited<ReturnType<typeof operations.showServer.run>>["tools"][number];

/** Fields that hold JSON in one line. */
const JSON_FIELDS: readonly string[] = ["parameters", "annotations", "output_schema"];

/** A cut JSON stays as it is. */
function layOutSide(field: string, side: string): string {
  const value = JSON_FIELDS.includes(field) ? parseJson(side) : undefined;
  return value === undefined ? side : JSON.stringify(value, null, 2);
}

/** Fields that have not changed are left to --json. */
function drawChanges({ changes, annotations: _, output_schema: __, ...tool }: ShownTool): string {
  if (changes.length === 0) return `${drawRow(tool)}\nit is accepted as it is\n`;
  const drawn = changes.map(({ field, before, after }) => {
    const sides = [before, after].map((side) => layOutSide(field, side)) as [string, string];
    return `\n${field}:\n${drawLineDiff(...sides)}`;
  });
  return `${drawRow(tool)}${drawn.join("")}`;
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
  {
    name: "tools servers",
    flags: { account },
    help: "List the MCP servers that accounts have registered",
    example: "wadi tools servers --account acme",
    async run(input, output) {
      const asked = { account: readText(input, "account") };
      const found = await call(input, operations.listServers, asked);
      return printTable(output, found, SERVER_COLUMNS, found.map(quoteServer));
    },
  },
  {
    name: "tools server",
    args: ["ID"],
    help: "Show an MCP server and its tools",
    example: "wadi tools server 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    async run(input, output) {
      const found = await call(input, operations.showServer, { id: input.args[0]! });
      const { tools, skipped, ...server } = found;
      const fields = ({ changes }: (typeof tools)[number]) => changes.map(({ field }) => field);
      const lines = tools.map((row) => ({ ...row, changes: fields(row) }));
      const head = drawRow(quoteServer({ ...server, skipped: quote(JSON.stringify(skipped)) }));
      output.print(found, `${head}\n${layOutTable(output, lines, SERVER_TOOL_COLUMNS)}`);
      return 0;
    },
  },
  {
    name: "tools refresh",
    args: ["ID"],
    help: "Have the tools of an MCP server read again",
    example: "wadi tools refresh 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    async run(input, output) {
      return printRow(output, await call(input, operations.refresh, { id: input.args[0]! }));
    },
  },
  {
    name: "tools risk",
    args: ["NAME", "RISK"],
    flags: { account },
    help: "Set the risk of a tool of an MCP server",
    example: "wadi tools risk orders_find read --account acme",
    async run(input, output) {
      const risk = RISKS.find((one) => one === input.args[1]);
      if (!risk) throw new UsageError(`RISK is one of ${RISKS.join(", ")}`);
      const asked = { ...readNamed(input, "risk"), risk };
      return printTool(output, await call(input, operations.setRisk, asked));
    },
  },
  {
    name: "tools changes",
    args: ["NAME"],
    flags: { account },
    help: "Show what an MCP server has changed of a tool",
    example: "wadi tools changes orders_find --account acme",
    async run(input, output) {
      const row = await call(input, operations.showChanges, readNamed(input, "changes"));
      output.print(row, drawChanges(row as unknown as ShownTool));
      return 0;
    },
  },
  {
    name: "tools accept",
    args: ["NAME", "REVISION"],
    flags: { account },
    help: "Accept a tool as its MCP server has changed it",
    example: "wadi tools accept orders_find 3 --account acme",
    async run(input, output) {
      const revision = Number(input.args[1]);
      if (!Number.isSafeInteger(revision)) throw new UsageError("REVISION is a whole number");
      const asked = { ...readNamed(input, "accept"), revision };
      return printTool(output, await call(input, operations.accept, asked));
    },
  },
  createToolCommand("show", "Show a tool as runs call it"),
  createToolCommand("disable", "Keep runs from calling a tool"),
  createToolCommand("enable", "Let runs call a disabled tool again"),
];
