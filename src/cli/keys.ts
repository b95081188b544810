// The verbs of `wadi keys`.
import { Key, type KeyWish } from "../operator/index.ts";
import { parseDuration } from "../platform/duration.ts";
import { show } from "../platform/shape.ts";
import { administer } from "./administration.ts";
import { drawRow, drawTable, type Output } from "./output.ts";
import { type Given, hasFlag, readList, readNumber, readText, UsageProblem } from "./verb.ts";

const COLUMNS = ["id", "account", "name", "kind", "scopes", "models", "expires_at", "revoked_at"];

/** The secret stands alone on stdout, so that `KEY=$(wadi keys create …)` works. */
export async function createKey(given: Given, output: Output): Promise<number> {
  const wish = readWish(given);
  const { key, secret } = await administer(given, ({ keys }) => keys.create(wish));
  output.say(`key ${key.id} created; it is shown only now:`);
  output.print({ ...show(Key, key), secret }, `${secret}\n`);
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
  const expires = readText(given, "expires");
  return {
    account: account ?? null,
    name: readText(given, "name") ?? null,
    is_internal: hasFlag(given, "internal"),
    scopes: readList(given, "scope"),
    models: models.length === 0 ? null : models,
    max_output_tokens: readNumber(given, "max-output-tokens") ?? null,
    lifetime_ms: expires === undefined ? null : readLifetime(expires),
  };
}

function readLifetime(text: string): number {
  try {
    return parseDuration(text);
  } catch (failure) {
    throw new UsageProblem(`--expires ${(failure as Error).message}`);
  }
}
