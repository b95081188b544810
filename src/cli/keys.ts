// The verbs of `wadi keys`.
import { Key, type KeyWish } from "../operator/index.ts";
import { parseDuration } from "../platform/duration.ts";
import { show } from "../platform/shape.ts";
import { administer } from "./administration.ts";
import { drawRow, drawTable, type Output, printOnce, type Row } from "./output.ts";
import { type Given, hasFlag, readList, readNumber, readText, UsageProblem } from "./verb.ts";

/** Long enough to carry the new secret everywhere within a working day. */
const OVERLAP_MS = 86_400_000;

const COLUMNS = ["id", "account", "name", "kind", "scopes", "models", "expires_at", "revoked_at"];

export async function createKey(given: Given, output: Output): Promise<number> {
  const wish = readWish(given);
  const { key, secret } = await administer(given, ({ keys }) => keys.create(wish));
  output.say(`key ${key.id} created; it is shown only now:`);
  printSecret(output, { ...show(Key, key), secret }, key.id);
  return 0;
}

/** The same key with a new secret, beside which the old one works for a while. */
export async function rotateKey(given: Given, output: Output): Promise<number> {
  const overlap_ms = readDuration(given, "overlap") ?? OVERLAP_MS;
  const rotated = await administer(given, ({ keys }) => keys.rotate(given.args[0]!, overlap_ms));
  const { key, secret, previous_until } = rotated;
  const previous = previous_until && new Date(previous_until).toISOString();
  const old = previous ? `the old one works until ${previous}` : "the old one is refused";
  output.say(`key ${key.id} has a new secret, and ${old}; it is shown only now:`);
  const row = { ...show(Key, key), secret, previous_secret_expires_at: previous };
  printSecret(output, row, key.id);
  return 0;
}

export async function listKeys(given: Given, output: Output): Promise<number> {
  const account = readText(given, "account") ?? null;
  const found = await administer(given, ({ keys }) => keys.list(account));
  const keys = found.map((key) => ({ ...show(Key, key), account: key.account }));
  output.print(keys, drawTable(keys, COLUMNS));
  return 0;
}

export async function revokeKey(given: Given, output: Output): Promise<number> {
  const revoked = await administer(given, ({ keys }) => keys.revoke(given.args[0]!));
  const key = show(Key, revoked);
  output.print(key, drawRow(key));
  return 0;
}

function readWish(given: Given): KeyWish {
  const account = readText(given, "account");
  if ((account === undefined) !== hasFlag(given, "no-account")) {
    throw new UsageProblem("keys create takes either --account NAME or --no-account");
  }
  const models = readList(given, "model");
  return {
    account: account ?? null,
    name: readText(given, "name") ?? null,
    is_internal: hasFlag(given, "internal"),
    scopes: readList(given, "scope"),
    models: models.length === 0 ? null : models,
    max_output_tokens: readNumber(given, "max-output-tokens") ?? null,
    lifetime_ms: readDuration(given, "expires") ?? null,
  };
}

/** Milliseconds; undefined: the flag is not there. */
function readDuration(given: Given, name: string): number | undefined {
  const text = readText(given, name);
  try {
    return text === undefined ? undefined : parseDuration(text);
  } catch (failure) {
    throw new UsageProblem(`--${name} ${(failure as Error).message}`);
  }
}

/** The secret stands alone on stdout, so that `KEY=$(wadi keys create …)` works. */
function printSecret(output: Output, row: Row & { secret: string }, id: string): void {
  const rescue =
    `the secret is lost, and key ${id} in force: \`wadi keys rotate ${id} --overlap 0s\` gives ` +
    `it another in place of all it has, \`wadi keys revoke ${id}\` ends it`;
  printOnce(output, row, `${row.secret}\n`, rescue);
}
