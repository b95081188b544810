// `wadi connections`: credentials of tools; secrets come from standard input, never an argument.
import { ListedConnection } from "../admin/index.ts";
import { show } from "../platform/schema.ts";
import { administer } from "./admin.ts";
import {
  account,
  type Command,
  type CommandInput,
  readList,
  readText,
  UsageError,
} from "./command.ts";
import { drawRow, drawTable, type Output, type OutputRow } from "./output.ts";
import { quote } from "./quotation.ts";

const COLUMNS = [
  ...["id", "account", "name", "kind", "header_name", "allowed_hosts"],
  ...["secret_set_at", "last_used_at", "created_at"],
];

export async function listConnections(input: CommandInput, output: Output): Promise<number> {
  const account = readText(input, "account") ?? null;
  const found = await administer(input, ({ connections }) => connections.list(account));
  const rows = found.map((row) => show(ListedConnection, row));
  output.print(rows, drawTable(rows.map(quoteName), COLUMNS));
  return 0;
}

export async function createConnection(input: CommandInput, output: Output): Promise<number> {
  const account = readText(input, "account");
  if (account === undefined) throw new UsageError("connections create takes --account NAME");
  const request = {
    name: input.args[0]!,
    account,
    kind: readText(input, "kind") ?? null,
    header_name: readText(input, "header") ?? null,
    allowed_hosts: readList(input, "host"),
    secret: await readSecret(output),
  };
  const made = await administer(input, ({ connections }) => connections.create(request));
  return print(output, show(ListedConnection, made));
}

export async function setConnectionSecret(input: CommandInput, output: Output): Promise<number> {
  const secret = await readSecret(output);
  const id = input.args[0]!;
  const hosts = readList(input, "host");
  const set = await administer(input, ({ connections }) =>
    connections.setSecret(id, secret, hosts.length === 0 ? null : hosts),
  );
  return print(output, show(ListedConnection, set));
}

export async function deleteConnection(input: CommandInput, output: Output): Promise<number> {
  const typed = input.args[0]!;
  const id = await administer(input, ({ connections }) => connections.remove(typed));
  const row = { connection: id, deleted: true };
  output.print(row, drawRow(row));
  return 0;
}

function print(output: Output, row: OutputRow): number {
  output.print(row, drawRow(quoteName(row)));
  return 0;
}

/** A caller's name may break a line: for people each connection has one. */
function quoteName(row: OutputRow): OutputRow {
  return { ...row, name: quote(row.name) };
}

/** Maximum bytes of a secret with its line break. */
const BYTES_MAX = 16 * 1024;
const LINE_END = /[\r\n]/;
const INTERRUPT = "\u0003";
const ERASE = "\u007f";

/** Drops one line break at the end, as `echo` writes it. */
async function readSecret(output: Pick<Output, "say">): Promise<string> {
  const { stdin } = process;
  const text = stdin.isTTY ? await readHidden(output) : await readAll(Bun.stdin.stream());
  const secret = text.replace(/\r?\n$/, "");
  if (secret !== "") return secret;
  throw new UsageError("no secret came on standard input: end the command with `< FILE`");
}

export async function readAll(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > BYTES_MAX) throw new UsageError(`a secret has at most ${BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Reads a typed line without echo. */
async function readHidden({ say }: Pick<Output, "say">): Promise<string> {
  const { stdin } = process;
  say("type the secret, which is not shown, then Enter:");
  stdin.setRawMode(true);
  let line = "";
  try {
    for await (const chunk of stdin) {
      for (const key of String(chunk)) {
        if (LINE_END.test(key)) return line;
        if (key === INTERRUPT) throw new UsageError("given up");
        line = key === ERASE ? line.slice(0, -1) : line + key;
        if (line.length > BYTES_MAX) throw new UsageError("the secret is too long");
      }
    }
    return line;
  } finally {
    stdin.setRawMode(false);
  }
}

export const commands: readonly Command[] = [
  {
    name: "connections list",
    args: [],
    flags: { account },
    help: "List connections without their secrets",
    example: "wadi connections list --account acme",
    run: listConnections,
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
    run: createConnection,
  },
  {
    name: "connections set-secret",
    args: ["ID"],
    flags: {
      host: { takes: "HOST", multiple: true, help: "host that may receive it (default as before)" },
    },
    help: "Replace a secret by one from standard input",
    example: "wadi connections set-secret 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 < secret",
    run: setConnectionSecret,
  },
  {
    name: "connections delete",
    args: ["ID"],
    flags: {},
    help: "Delete a connection and its secret, unless a tool uses it",
    example: "wadi connections delete 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    run: deleteConnection,
  },
];
