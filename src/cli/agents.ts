// `wadi agents`: agents of every account and their holds.
import { Hold, ListedAgent } from "../admin/index.ts";
import { show } from "../platform/schema.ts";
import { administer } from "./admin.ts";
import { account, type Command, holdReason, readAccount, readText } from "./command.ts";
import { printRow, printRows, quoteWhole } from "./output.ts";

const COLUMNS = [
  ...["id", "account", "slug", "name", "status", "current_version", "created_at"],
  ...["held", "held_since", "hold_reason"],
];

export const commands: readonly Command[] = [
  {
    name: "agents list",
    flags: { account },
    help: "List agents and their holds",
    example: "wadi agents list --account acme",
    async run(input, output) {
      const found = await administer(input, ({ agents }) => agents.list(readAccount(input)));
      return printRows(output, ListedAgent, found, COLUMNS, (row) => {
        return { ...row, name: quoteWhole(row.name) };
      });
    },
  },
  {
    name: "agents hold",
    args: ["AGENT_ID"],
    flags: { reason: holdReason },
    help: "Keep new runs of an agent from starting",
    example: 'wadi agents hold 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --reason "Runs in circles"',
    async run(input, output) {
      const reason = readText(input, "reason") ?? null;
      const hold = await administer(input, ({ agents }) => agents.hold(input.args[0]!, reason));
      return printRow(output, show(Hold, hold));
    },
  },
  {
    name: "agents release",
    args: ["AGENT_ID"],
    help: "End a hold and start the runs that wait for it",
    example: "wadi agents release 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    async run(input, output) {
      const released = await administer(input, ({ agents }) => agents.release(input.args[0]!));
      if (!released.wasHeld) output.say("it was not held");
      return printRow(output, { agent: released.id, held: false });
    },
  },
];
