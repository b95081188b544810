// The verbs of `wadi accounts`.
import { Account } from "../operator/index.ts";
import { show } from "../platform/shape.ts";
import { administer } from "./administration.ts";
import { drawRow, drawTable, type Output } from "./output.ts";
import type { Given } from "./verb.ts";

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
  const accounts = found.map((account) => show(Account, account));
  output.print(accounts, drawTable(accounts, ["name", "id", "created_at"]));
  return 0;
}

/** `grant` and `ungrant`. */
export async function setGrant(given: Given, output: Output, granted: boolean): Promise<number> {
  const [account, model] = given.args as [string, string];
  const verb = granted ? "grant" : "ungrant";
  await administer(given, ({ accounts }) => accounts[verb](account, model));
  const row = { account, model, granted };
  output.print(row, drawRow(row));
  return 0;
}
