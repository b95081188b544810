// `wadi agents`: agents of every account and their holds.
import { Hold, ListedAgent } from "../admin/index.ts";
import { show } from "../platform/schema.ts";
import { administer } from "./admin.ts";
import { account, type Command, type CommandInput, holdReason, readText } from "./command.ts";
import { drawRow, drawTable, type Output } from "./output.ts";
import { quoteWhole } from "./quotation.ts";

const COLUMNS = [
  ...["id", "account", "slug", "name", "status", "current_version", "created_at"],
  ...["held", "held_since", "hold_reason"],
];

export async function listAgents(input: CommandInput, output: Output): Promise<number> {
  const account = readText(input, "account") ?? null;
  const found = await administer(input, ({ agents }) => agents.list(account));
  const rows = found.map((agent) => show(ListedAgent, agent));
  // A caller's name may break a line: for people each agent has one.
  const lines = rows.map((row) => ({ ...row, name: quoteWhole(row.name) }));
  output.print(rows, drawTable(lines, COLUMNS));
  return 0;
}

export async function holdAgent(input: CommandInput, output: Output): Promise<number> {
  const reason = readText(input, "reason") ?? null;
  const held = await administer(input, ({ agents }) => agents.hold(input.args[0]!, reason));
  const row = show(Hold, held);
  output.print(row, drawRow(row));
  return 0;
}

export async function releaseAgent(input: CommandInput, output: Output): Promise<number> {
  const { id, was_held } = await administer(input, ({ agents }) => agents.release(input.args[0]!));
  if (!was_held) output.say("it was not held");
  const row = { agent: id, held: false };
  output.print(row, drawRow(row));
  return 0;
}

export const commands: readonly Command[] = [
  {
    name: "agents list",
    args: [],
    flags: { account },
    help: "List agents and their holds",
    example: "wadi agents list --account acme",
    run: listAgents,
  },
  {
    name: "agents hold",
    args: ["AGENT_ID"],
    flags: { reason: holdReason },
    help: "Keep new runs of an agent from starting",
    example: 'wadi agents hold 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --reason "Runs in circles"',
    run: holdAgent,
  },
  {
    name: "agents release",
    args: ["AGENT_ID"],
    flags: {},
    help: "End a hold and start the runs that wait for it",
    example: "wadi agents release 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    run: releaseAgent,
  },
];
