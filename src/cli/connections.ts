// The verbs of `wadi connections`; their secrets come from standard input and are never printed.
import { ListedConnection } from "../operator/index.ts";
import { show } from "../platform/shape.ts";
import { administer } from "./administration.ts";
import { drawRow, drawTable, type Output, type Row } from "./output.ts";
import { quote } from "./quotation.ts";
import { readSecret } from "./secret-input.ts";
import { type Given, readList, readText, UsageProblem } from "./verb.ts";

const COLUMNS = [
  ...["id", "account", "name", "kind", "header_name", "allowed_hosts"],
  ...["secret_set_at", "last_used_at", "created_at"],
];

export async function listConnections(given: Given, output: Output): Promise<number> {
  const account = readText(given, "account") ?? null;
  const found = await administer(given, ({ connections }) => connections.list(account));
  const rows = found.map((row) => show(ListedConnection, row));
  output.print(rows, drawTable(rows.map(quoteName), COLUMNS));
  return 0;
}

export async function createConnection(given: Given, output: Output): Promise<number> {
  const account = readText(given, "account");
  if (account === undefined) throw new UsageProblem("connections create takes --account NAME");
  const wish = {
    name: given.args[0]!,
    account,
    kind: readText(given, "kind") ?? null,
    header_name: readText(given, "header") ?? null,
    allowed_hosts: readList(given, "host"),
    secret: await readSecret(output),
  };
  const made = await administer(given, ({ connections }) => connections.create(wish));
  return print(output, show(ListedConnection, made));
}

export async function setConnectionSecret(given: Given, output: Output): Promise<number> {
  const secret = await readSecret(output);
  const id = given.args[0]!;
  const hosts = readList(given, "host");
  const set = await administer(given, ({ connections }) =>
    connections.setSecret(id, secret, hosts.length === 0 ? null : hosts),
  );
  return print(output, show(ListedConnection, set));
}

export async function deleteConnection(given: Given, output: Output): Promise<number> {
  const typed = given.args[0]!;
  const id = await administer(given, ({ connections }) => connections.remove(typed));
  const row = { connection: id, deleted: true };
  output.print(row, drawRow(row));
  return 0;
}

function print(output: Output, row: Row): number {
  output.print(row, drawRow(quoteName(row)));
  return 0;
}

/** A caller's name may break a line: for people each connection has one. */
function quoteName(row: Row): Row {
  return { ...row, name: quote(row.name) };
}
