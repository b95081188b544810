// `wadi accounts`: accounts, their grants and holds.
import { Account, Hold, ListedAccount } from "../admin/index.ts";
import { show } from "../platform/schema.ts";
import { administer } from "./admin.ts";
import { type Command, type CommandInput, holdReason, readText } from "./command.ts";
import { drawRow, drawTable, type Output, type OutputRow } from "./output.ts";

export async function createAccount(input: CommandInput, output: Output): Promise<number> {
  const [name] = input.args;
  // The one command with which a data directory may begin before its first server does.
  const made = await administer(input, ({ accounts }) => accounts.create(name!), { begins: true });
  const account = show(Account, made);
  output.print(account, drawRow(account));
  return 0;
}

export async function listAccounts(input: CommandInput, output: Output): Promise<number> {
  const found = await administer(input, ({ accounts }) => accounts.list());
  const accounts = found.map((account) => show(ListedAccount, account));
  const columns = ["name", "id", "created_at", "stored_bytes", "held_since", "hold_reason"];
  output.print(accounts, drawTable(accounts, columns));
  return 0;
}

export async function grantModel(input: CommandInput, output: Output): Promise<number> {
  const [account, model] = input.args as [string, string];
  const note = await administer(input, ({ accounts }) => accounts.grant(account, model));
  if (note) output.say(`the grant opens nothing: ${note}`);
  return printRow({ account, model, granted: true }, output);
}

export async function ungrantModel(input: CommandInput, output: Output): Promise<number> {
  const [account, model] = input.args as [string, string];
  await administer(input, ({ accounts }) => accounts.ungrant(account, model));
  return printRow({ account, model, granted: false }, output);
}

export async function holdAccount(input: CommandInput, output: Output): Promise<number> {
  const reason = readText(input, "reason") ?? null;
  const held = await administer(input, ({ accounts }) => accounts.hold(input.args[0]!, reason));
  return printRow(show(Hold, held), output);
}

export async function releaseAccount(input: CommandInput, output: Output): Promise<number> {
  const [account] = input.args as [string];
  const wasHeld = await administer(input, ({ accounts }) => accounts.release(account));
  if (!wasHeld) output.say("it was not held");
  return printRow({ account, held: false }, output);
}

function printRow(row: OutputRow, output: Output): number {
  output.print(row, drawRow(row));
  return 0;
}

export const commands: readonly Command[] = [
  {
    name: "accounts create",
    args: ["NAME"],
    flags: {},
    help: "Create an account, which owns keys and agents",
    example: "wadi accounts create acme",
    run: createAccount,
  },
  {
    name: "accounts list",
    args: [],
    flags: {},
    help: "List accounts with their holds and stored bytes",
    example: "wadi accounts list",
    run: listAccounts,
  },
  {
    name: "accounts grant",
    args: ["NAME", "MODEL"],
    flags: {},
    help: "Let an account call an external or private model",
    example: "wadi accounts grant acme gpt-4o",
    run: grantModel,
  },
  {
    name: "accounts ungrant",
    args: ["NAME", "MODEL"],
    flags: {},
    help: "Take a grant back",
    example: "wadi accounts ungrant acme gpt-4o",
    run: ungrantModel,
  },
  {
    name: "accounts hold",
    args: ["NAME"],
    flags: { reason: holdReason },
    help: "Keep new runs of an account's agents from starting",
    example: 'wadi accounts hold acme --reason "Invoice 12 is unpaid"',
    run: holdAccount,
  },
  {
    name: "accounts release",
    args: ["NAME"],
    flags: {},
    help: "End a hold and start the runs that wait for it",
    example: "wadi accounts release acme",
    run: releaseAccount,
  },
];
