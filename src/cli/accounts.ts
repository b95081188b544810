// The verbs of `wadi accounts`.
import { Account, Hold, ListedAccount } from "../operator/index.ts";
import { show } from "../platform/shape.ts";
import { administer } from "./administration.ts";
import { drawRow, drawTable, type Output, type Row } from "./output.ts";
import { type Given, readText } from "./verb.ts";

export async function createAccount(given: Given, output: Output): Promise<number> {
  const [name] = given.args;
  // The one verb with which a data directory may begin before its first server does.
  const made = await administer(given, ({ accounts }) => accounts.create(name!), { begins: true });
  const account = show(Account, made);
  output.print(account, drawRow(account));
  return 0;
}

export async function listAccounts(given: Given, output: Output): Promise<number> {
  const found = await administer(given, ({ accounts }) => accounts.list());
  const accounts = found.map((account) => show(ListedAccount, account));
  const columns = ["name", "id", "created_at", "stored_bytes", "held_since", "hold_reason"];
  output.print(accounts, drawTable(accounts, columns));
  return 0;
}

export async function grantModel(given: Given, output: Output): Promise<number> {
  const [account, model] = given.args as [string, string];
  const note = await administer(given, ({ accounts }) => accounts.grant(account, model));
  if (note) output.say(`the grant opens nothing: ${note}`);
  return printRow({ account, model, granted: true }, output);
}

export async function ungrantModel(given: Given, output: Output): Promise<number> {
  const [account, model] = given.args as [string, string];
  await administer(given, ({ accounts }) => accounts.ungrant(account, model));
  return printRow({ account, model, granted: false }, output);
}

export async function holdAccount(given: Given, output: Output): Promise<number> {
  const reason = readText(given, "reason") ?? null;
  const held = await administer(given, ({ accounts }) => accounts.hold(given.args[0]!, reason));
  return printRow(show(Hold, held), output);
}

export async function releaseAccount(given: Given, output: Output): Promise<number> {
  const [account] = given.args as [string];
  const wasHeld = await administer(given, ({ accounts }) => accounts.release(account));
  if (!wasHeld) output.say("it was not held");
  return printRow({ account, held: false }, output);
}

function printRow(row: Row, output: Output): number {
  output.print(row, drawRow(row));
  return 0;
}
