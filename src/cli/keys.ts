// `wadi keys`: API keys, whose secrets are printed once.
import { Key, type KeyRequest } from "../admin/index.ts";
import { parseDuration } from "../platform/duration.ts";
import { show } from "../platform/schema.ts";
import { administer } from "./admin.ts";
import {
  account,
  type Command,
  type CommandInput,
  hasFlag,
  readAccount,
  readList,
  readNumber,
  readText,
  UsageError,
} from "./command.ts";
import { type Output, type OutputRow, printOnce, printRow, printTable } from "./output.ts";

/** Default overlap: a working day to deploy the new secret. */
const OVERLAP_MS = 86_400_000;

const COLUMNS = ["id", "account", "name", "kind", "scopes", "models", "expires_at", "revoked_at"];

function readRequest(input: CommandInput): KeyRequest {
  const account = readText(input, "account");
  if ((account === undefined) !== hasFlag(input, "no-account")) {
    throw new UsageError("keys create takes either --account NAME or --no-account");
  }
  const models = readList(input, "model");
  return {
    account: account ?? null,
    name: readText(input, "name") ?? null,
    is_internal: hasFlag(input, "internal"),
    scopes: readList(input, "scope"),
    models: models.length === 0 ? null : models,
    max_output_tokens: readNumber(input, "max-output-tokens") ?? null,
    lifetimeMs: readDuration(input, "expires") ?? null,
  };
}

function readDuration(input: CommandInput, name: string): number | undefined {
  const text = readText(input, name);
  try {
    return text === undefined ? undefined : parseDuration(text);
  } catch (error) {
    throw new UsageError(`--${name} ${(error as Error).message}`);
  }
}

/** Prints the secret alone on stdout, so that `KEY=$(wadi keys create …)` works. */
function printSecret(output: Output, row: OutputRow & { secret: string }, id: string): number {
  const rescue =
    `the secret is lost, and key ${id} in force: \`wadi keys rotate ${id} --overlap 0s\` gives ` +
    `it another in place of all it has, \`wadi keys revoke ${id}\` ends it`;
  printOnce(output, row, `${row.secret}\n`, rescue);
  return 0;
}

export const commands: readonly Command[] = [
  {
    name: "keys create",
    flags: {
      account,
      "no-account": { help: "key without an owner, which starts no runs" },
      internal: { help: "platform-internal key, which may not call the API" },
      name: { takes: "TEXT", help: "name for people" },
      scope: { takes: "NAME", multiple: true, help: "scope to grant; repeatable" },
      model: { takes: "ID", multiple: true, help: "model to allow (default all); repeatable" },
      "max-output-tokens": { takes: "N", help: "maximum tokens of a reply" },
      expires: { takes: "90d", help: "lifetime, such as 12h (default unlimited)" },
    },
    help: "Create an API key and print it once",
    example: "wadi keys create --account acme --scope agents --expires 90d",
    async run(input, output) {
      const request = readRequest(input);
      const { key, secret } = await administer(input, ({ keys }) => keys.create(request));
      output.say(`key ${key.id} created; it is shown only now:`);
      return printSecret(output, { ...show(Key, key), secret }, key.id);
    },
  },
  {
    name: "keys list",
    flags: { account },
    help: "List keys without their secrets",
    example: "wadi keys list --account acme",
    async run(input, output) {
      const found = await administer(input, ({ keys }) => keys.list(readAccount(input)));
      const rows = found.map((key) => ({ ...show(Key, key), account: key.account }));
      return printTable(output, rows, COLUMNS);
    },
  },
  {
    name: "keys revoke",
    args: ["KEY_ID"],
    help: "Revoke a key, effective at its next request",
    example: "wadi keys revoke 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    async run(input, output) {
      const key = await administer(input, ({ keys }) => keys.revoke(input.args[0]!));
      return printRow(output, show(Key, key));
    },
  },
  {
    name: "keys rotate",
    args: ["KEY_ID"],
    flags: {
      overlap: { takes: "24h", help: "time the old secret keeps working (default 24h)" },
    },
    help: "Give a key a new secret and print it once",
    example: "wadi keys rotate 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --overlap 1h",
    async run(input, output) {
      const overlapMs = readDuration(input, "overlap") ?? OVERLAP_MS;
      const rotated = await administer(input, ({ keys }) => keys.rotate(input.args[0]!, overlapMs));
      const { key, secret, previousUntil } = rotated;
      const previous = previousUntil && new Date(previousUntil).toISOString();
      const old = previous ? `the old one works until ${previous}` : "the old one is refused";
      output.say(`key ${key.id} has a new secret, and ${old}; it is shown only now:`);
      const row = { ...show(Key, key), secret, previous_secret_expires_at: previous };
      return printSecret(output, row, key.id);
    },
  },
];
