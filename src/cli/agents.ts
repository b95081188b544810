// `wadi agents`: agents of every account and their holds.
import { agentOperations as operations } from "../admin/index.ts";
import { account, type Command, holdReason, readText } from "./command.ts";
import { call } from "./operations.ts";
import { printRow, printTable, quoteWhole } from "./output.ts";

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
      const found = await call(input, operations.list, {
        account: readText(input, "account"),
      });
      const lines = found.map((row) => ({ ...row, name: quoteWhole(row.name) }));
      return printTable(output, found, COLUMNS, lines);
    },
  },
  {
    name: "agents hold",
    args: ["AGENT_ID"],
    flags: { reason: holdReason },
    help: "Keep new runs of an agent from starting",
    example: 'wadi agents hold 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --reason "Runs in circles"',
    async run(input, output) {
      const [id] = input.args as [string];
      const reason = readText(input, "reason");
      return printRow(output, await call(input, operations.hold, { id, reason }));
    },
  },
  {
    name: "agents release",
    args: ["AGENT_ID"],
    help: "End a hold and start the runs that wait for it",
    example: "wadi agents release 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    isUnsuggested: true,
    async run(input, output) {
      const [id] = input.args as [string];
      const { was_held, ...released } = await call(input, operations.release, { id });
      if (!was_held) output.say("it was not held");
      return printRow(output, released);
    },
  },
];
