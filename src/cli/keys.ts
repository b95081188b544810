// `wadi keys`: API keys, whose secrets are printed once.
import {
  type NewKeyInput,
  keyOperations as operations,
  playgroundOperations,
} from "../admin/index.ts";
import {
  account,
  type Command,
  type CommandInput,
  hasFlag,
  readDuration,
  readList,
  readNumber,
  readText,
  UsageError,
} from "./command.ts";
import { limitFlags, printLimits, readLimitChange } from "./limits.ts";
import { call } from "./operations.ts";
import {
  escapeControls,
  type Output,
  type OutputRow,
  printOnce,
  printRow,
  printTable,
} from "./output.ts";

interface KeyChatReply {
  choices: readonly { message: { content: string | null } }[];
}

/** Default overlap: a working day to deploy the new secret. */
const OVERLAP_MS = 86_400_000;

const COLUMNS = ["id", "account", "name", "kind", "scopes", "models", "expires_at", "revoked_at"];

function readRequest(input: CommandInput): NewKeyInput {
  const owner = readText(input, "account");
  if ((owner === undefined) !== hasFlag(input, "no-account")) {
    throw new UsageError("keys create takes either --account NAME or --no-account");
  }
  return {
    account: owner,
    name: readText(input, "name"),
    internal: hasFlag(input, "internal"),
    scopes: [...readList(input, "scope")],
    models: [...readList(input, "model")],
    max_output_tokens: readNumber(input, "max-output-tokens"),
    lifetime_ms: readDuration(input, "expires"),
  };
}

/** Prints the secret alone on stdout, so that `KEY=$(wadi keys create …)` works. */
function printSecret(output: Output, row: OutputRow & { secret: string }, id: string): number {
  const rescue =
    `the secret is lost, and key ${id} in force: \`wadi keys rotate ${id} --overlap 0s\` gives ` +
    `it another in place of all it has, \`wadi keys revoke ${id}\` ends it`;
  printOnce(output, row, `${row.secret}\n`, rescue);
  return 0;
}

/** Reads the fields to change; a switch beside the option of the same field is an error. */
function readUpdate(input: CommandInput) {
  const scopes = readList(input, "scope");
  const models = readList(input, "model");
  const fields = {
    name: readText(input, "name"),
    scopes: pick(input, scopes.length > 0 ? [...scopes] : undefined, "no-scopes", []),
    models: pick(input, models.length > 0 ? [...models] : undefined, "all-models", null),
    max_output_tokens: pick(
      input,
      readNumber(input, "max-output-tokens"),
      "no-max-output-tokens",
      null,
    ),
    lifetime_ms: pick(input, readDuration(input, "expires"), "no-expiry", null),
  };
  if (Object.values(fields).some((value) => value !== undefined)) return fields;
  throw new UsageError("keys update takes what to change: see `wadi keys update --help`");
}

function pick<T, E>(
  input: CommandInput,
  value: T | undefined,
  name: string,
  without: E,
): T | E | undefined {
  if (!hasFlag(input, name)) return value;
  if (value === undefined) return without;
  throw new UsageError(`--${name} goes with no value of the same field`);
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
      const key = await call(input, operations.create, readRequest(input));
      output.say(`key ${key.id} created; it is shown only now:`);
      return printSecret(output, key, key.id);
    },
  },
  {
    name: "keys list",
    flags: { account },
    help: "List keys without their secrets",
    example: "wadi keys list --account acme",
    async run(input, output) {
      const found = await call(input, operations.list, { account: readText(input, "account") });
      return printTable(output, found, COLUMNS);
    },
  },
  {
    name: "keys show",
    args: ["KEY_ID"],
    help: "Show a key and when it was last used",
    example: "wadi keys show 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    async run(input, output) {
      return printRow(output, await call(input, operations.show, { id: input.args[0]! }));
    },
  },
  {
    name: "keys update",
    args: ["KEY_ID"],
    flags: {
      name: { takes: "TEXT", help: "name for people" },
      scope: { takes: "NAME", multiple: true, help: "scope in place of the others; repeatable" },
      "no-scopes": { help: "no scope any more" },
      model: { takes: "ID", multiple: true, help: "model in place of the others; repeatable" },
      "all-models": { help: "no list of models any more" },
      "max-output-tokens": { takes: "N", help: "maximum tokens of a reply" },
      "no-max-output-tokens": { help: "no such maximum any more" },
      expires: { takes: "90d", help: "lifetime from now, such as 12h" },
      "no-expiry": { help: "unlimited lifetime" },
    },
    help: "Change a key, effective at its next request",
    example: "wadi keys update 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --scope think --expires 90d",
    async run(input, output) {
      const request = { id: input.args[0]!, ...readUpdate(input) };
      return printRow(output, await call(input, operations.update, request));
    },
  },
  {
    name: "keys limit",
    args: ["KEY_ID"],
    flags: limitFlags,
    help: "Show the limits of a key and their use, or change some",
    example: "wadi keys limit 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --requests-minute 60",
    async run(input, output) {
      const [id] = input.args as [string];
      const change = readLimitChange(input);
      if (!change) return printLimits(output, await call(input, operations.readLimits, { id }));
      return printLimits(output, await call(input, operations.limit, { id, ...change }));
    },
  },
  {
    name: "keys revoke",
    args: ["KEY_ID"],
    help: "Revoke a key, effective at its next request",
    example: "wadi keys revoke 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    async run(input, output) {
      const [id] = input.args as [string];
      return printRow(output, await call(input, operations.revoke, { id }));
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
      const [id] = input.args as [string];
      const overlap_ms = readDuration(input, "overlap") ?? OVERLAP_MS;
      const key = await call(input, operations.rotate, { id, overlap_ms });
      const previous = key.previous_secret_expires_at;
      const old = previous ? `the old one works until ${previous}` : "the old one is refused";
      output.say(`key ${key.id} has a new secret, and ${old}; it is shown only now:`);
      return printSecret(output, key, key.id);
    },
  },
  {
    name: "keys chat",
    args: ["KEY_ID", "MESSAGE"],
    flags: {
      model: { takes: "ID", help: "model to ask (default: that of the service)" },
      system: { takes: "TEXT", help: "instructions before the message" },
    },
    help: "Chat as a key, through a server, and print the answer",
    example: "wadi keys chat 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 Hello --model stub-1",
    async run(input, output) {
      const [key, content] = input.args as [string, string];
      const model = readText(input, "model");
      const system = readText(input, "system");
      const messages = [
        ...(system === undefined ? [] : [{ role: "system", content: system }]),
        { role: "user", content },
      ];
      const request = { ...(model !== undefined && { model }), messages };
      const reply = (await call(input, playgroundOperations.chat, { key, request })) as unknown;
      const { choices } = reply as KeyChatReply;
      const text = choices[0]?.message.content ?? "";
      output.print(reply, `${output.terminal ? escapeControls(text) : text}\n`);
      return 0;
    },
  },
];
