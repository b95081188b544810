// `wadi accounts`: accounts, their grants and holds.
import { Account, Hold, ListedAccount } from "../admin/index.ts";
import { show } from "../platform/schema.ts";
import { administer } from "./admin.ts";
import { type Command, holdReason, readText } from "./command.ts";
import { printRow, printRows } from "./output.ts";

const COLUMNS = ["name", "id", "created_at", "stored_bytes", "held_since", "hold_reason"];

export const commands: readonly Command[] = [
  {
    name: "accounts create",
    args: ["NAME"],
    help: "Create an account, which owns keys and agents",
    example: "wadi accounts create acme",
    async run(input, output) {
      // The only command that may create a database.
      const account = await administer(input, ({ accounts }) => accounts.create(input.args[0]!), {
        begins: true,
      });
      return printRow(output, show(Account, account));
    },
  },
  {
    name: "accounts list",
    help: "List accounts with their holds and stored bytes",
    example: "wadi accounts list",
    async run(input, output) {
      const found = await administer(input, ({ accounts }) => accounts.list());
      return printRows(output, ListedAccount, found, COLUMNS);
    },
  },
  {
    name: "accounts grant",
    args: ["NAME", "MODEL"],
    help: "Let an account call an external or private model",
    example: "wadi accounts grant acme gpt-4o",
    async run(input, output) {
      const [account, model] = input.args as [string, string];
      const note = await administer(input, ({ accounts }) => accounts.grant(account, model));
      if (note) output.say(`the grant opens nothing: ${note}`);
      return printRow(output, { account, model, granted: true });
    },
  },
  {
    name: "accounts ungrant",
    args: ["NAME", "MODEL"],
    help: "Revoke a grant",
    example: "wadi accounts ungrant acme gpt-4o",
    async run(input, output) {
      const [account, model] = input.args as [string, string];
      await administer(input, ({ accounts }) => accounts.ungrant(account, model));
      return printRow(output, { account, model, granted: false });
    },
  },
  {
    name: "accounts hold",
    args: ["NAME"],
    flags: { reason: holdReason },
    help: "Keep new runs of an account's agents from starting",
    example: 'wadi accounts hold acme --reason "Invoice 12 is unpaid"',
    async run(input, output) {
      const reason = readText(input, "reason") ?? null;
      const hold = await administer(input, ({ accounts }) => accounts.hold(input.args[0]!, reason));
      return printRow(output, show(Hold, hold));
    },
  },
  {
    name: "accounts release",
    args: ["NAME"],
    help: "End a hold and start the runs that wait for it",
    example: "wadi accounts release acme",
    async run(input, output) {
      const [account] = input.args as [string];
      const wasHeld = await administer(input, ({ accounts }) => accounts.release(account));
      if (!wasHeld) output.say("it was not held");
      return printRow(output, { account, held: false });
    },
  },
];
