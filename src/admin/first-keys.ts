// The keys of a first start: the fixed ones of `wadi dev`, the single one of `wadi serve`.
import { type Access, type Account, type Key, type NewKey, SCOPES } from "../access/index.ts";
import type { Clock } from "../platform/clock.ts";
import { AdminError } from "./errors.ts";

export const DEV = "dev";

/** Names by which `serve` recognises data with public keys. */
const NAME = /^wadi dev [0-9a-f]{8}(-|$)/;

/**
 * Creates the missing fixed keys of `wadi dev`: `first`, and others that begin with its text.
 * Returns the others; throws on data of `wadi serve`.
 */
export async function createDevKeys(
  access: Access,
  clock: Clock,
  first: string,
): Promise<string[]> {
  const keys = await access.keys.list(null);
  const isBegun = keys.length > 0 || (await access.accounts.list()).length > 0;
  if (isBegun && !keys.some(isDevKey)) {
    throw new AdminError(
      "this data belongs to `wadi serve`, and everybody knows the keys of `wadi dev`: " +
        "give dev a directory of its own with --data",
    );
  }
  const made = new Set(keys.map(({ name }) => name));
  const account_id = (await findOrCreate(access, DEV)).id;
  const other = await findOrCreate(access, "other");
  const scopes = SCOPES.filter((scope) => scope !== "agents.approve");
  const requests: Record<string, Omit<NewKey, "name" | "secret">> = {
    "": { account_id, scopes },
    "-approver": { account_id, scopes: ["agents", "agents.approve"] },
    "-none": { account_id },
    "-other": { account_id: other.id, scopes },
    // Expired at a later start, even with another `--now`.
    "-expired": { account_id, scopes, expires_at: 0 },
    "-revoked": { account_id, scopes, revoked_at: clock.now() },
    "-internal": { account_id, scopes, kind: "internal" },
    "-ownerless": { account_id: null, scopes },
  };
  // Secrets are never stored in plain text, not even public ones.
  const mark = `wadi dev ${Bun.SHA256.hash(first, "hex").slice(0, 8)}`;
  for (const [ending, request] of Object.entries(requests)) {
    const name = mark + ending;
    if (made.has(name)) continue;
    const secret = first + ending;
    const { key, stored } = access.credentials.makeKey({ ...request, name, secret });
    await access.keys.create(key, stored);
  }
  return Object.keys(requests).flatMap((ending) => (ending ? [first + ending] : []));
}

function isDevKey({ name }: Key): boolean {
  return NAME.test(name ?? "");
}

async function findOrCreate({ accounts, credentials }: Access, name: string): Promise<Account> {
  const account = (await accounts.find(name)) ?? credentials.makeAccount(name);
  await accounts.create(account);
  return account;
}

/** Creates an account and a key where there is none; returns the secret of a new key. */
export async function createFirstKey(access: Access): Promise<string | undefined> {
  // Keys without an owner, and those of `other`, outlive the account of dev.
  if ((await access.keys.list(null)).some(isDevKey)) {
    throw new AdminError(
      "this data belongs to `wadi dev`, whose keys everybody knows: give serve another directory " +
        "with --data",
    );
  }
  if ((await access.accounts.count()) > 0) return undefined;
  const account = access.credentials.makeAccount("default");
  const { key, secret, stored } = access.credentials.makeKey({
    account_id: account.id,
    name: "first",
    // A key that approved calls of its own runs would make approvals worthless.
    scopes: SCOPES.filter((scope) => scope !== "agents.approve"),
  });
  return (await access.accounts.createFirst(account, key, stored)) ? secret : undefined;
}
