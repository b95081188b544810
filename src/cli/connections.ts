// `wadi connections`: credentials of tools; secrets come from standard input, never an argument.
import { connectionOperations as operations } from "../admin/index.ts";
import { account, type Command, readList, readText, UsageError } from "./command.ts";
import { call } from "./operations.ts";
import { type Output, type OutputRow, printRow, printTable, quote } from "./output.ts";
import { readSecret } from "./standard-input.ts";

const COLUMNS = [
  ...["id", "account", "name", "kind", "header_name", "allowed_hosts"],
  ...["secret_set_at", "last_used_at", "created_at"],
];

const quoteName = (row: OutputRow): OutputRow => ({ ...row, name: quote(row.name) });

function printConnection(output: Output, row: OutputRow): number {
  return printRow(output, row, quoteName(row));
}

export const commands: readonly Command[] = [
  {
    name: "connections list",
    flags: { account },
    help: "List connections without their secrets",
    example: "wadi connections list --account acme",
    async run(input, output) {
      const found = await call(input, operations.list, { account: readText(input, "account") });
      return printTable(output, found, COLUMNS, found.map(quoteName));
    },
  },
  {
    name: "connections create",
    args: ["NAME"],
    flags: {
      account,
      kind: { takes: "KIND", help: "bearer or header (default bearer)" },
      header: { takes: "NAME", help: "header that carries the secret" },
      host: { takes: "HOST", multiple: true, help: "host that may receive it; repeatable" },
    },
    help: "Create a connection with the secret from standard input",
    example: "wadi connections create orders --account acme --host api.example.com < secret",
    async run(input, output) {
      const owner = readText(input, "account");
      if (owner === undefined) throw new UsageError("connections create takes --account NAME");
      const request = {
        name: input.args[0]!,
        account: owner,
        kind: readText(input, "kind"),
        header_name: readText(input, "header"),
        allowed_hosts: [...readList(input, "host")],
        secret: await readSecret(output),
      };
      return printConnection(output, await call(input, operations.create, request));
    },
  },
  {
    name: "connections set-secret",
    args: ["ID"],
    flags: {
      host: { takes: "HOST", multiple: true, help: "host that may receive it (default as before)" },
    },
    help: "Replace a secret with one from standard input",
    example: "wadi connections set-secret 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 < secret",
    async run(input, output) {
      const [id] = input.args as [string];
      const hosts = readList(input, "host");
      const allowed_hosts = hosts.length === 0 ? undefined : [...hosts];
      const request = { id, secret: await readSecret(output), allowed_hosts };
      return printConnection(output, await call(input, operations.setSecret, request));
    },
  },
  {
    name: "connections delete",
    args: ["ID"],
    help: "Delete a connection and its secret, unless a tool uses it",
    example: "wadi connections delete 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    async run(input, output) {
      const [id] = input.args as [string];
      return printRow(output, await call(input, operations.delete, { id }));
    },
  },
];
