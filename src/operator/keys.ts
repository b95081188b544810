// Keys as the operator makes, lists, rotates and revokes them.
import {
  type Access,
  type Account,
  type Key,
  type RotatedKey,
  SCOPES,
  type Scope,
} from "../access/index.ts";
import type { Clock } from "../platform/clock.ts";
import { nameAccounts } from "./accounts.ts";
import { readId } from "./ids.ts";
import { OperatorProblem, refuseUnknown, refuseUnknownModel } from "./problem.ts";

/** What may be chosen of a key that an operator makes. */
export interface KeyWish {
  /** The owner's name; null: a key without an owner. */
  account: string | null;
  name: string | null;
  is_internal: boolean;
  scopes: readonly string[];
  /** null: no model list. */
  models: readonly string[] | null;
  max_output_tokens: number | null;
  /** null: never. */
  lifetime_ms: number | null;
}

/** A key as it is listed: with its owner's name, never with its secret. */
export type ListedKey = Key & { account: string | null };

/** For people: one line of a table. */
const NAME = /^[^\p{C}\p{Zl}\p{Zp}]{1,128}$/u;
/** A hundred years: an end that dates can still be written of. */
const LIFETIME_MS_MAX = 36_500 * 86_400_000;

export interface KeyVerbsOptions {
  access: Access;
  clock: Clock;
  models: readonly string[];
  requireAccount(name: string): Promise<Account>;
}

export function createKeyVerbs({ access, clock, models, requireAccount }: KeyVerbsOptions) {
  return {
    /** The key and its secret, which nobody can read again. */
    async create(wish: KeyWish): Promise<{ key: Key; secret: string }> {
      refuseWish(wish, models);
      const account = wish.account === null ? null : await requireAccount(wish.account);
      return access.keys.create({
        account_id: account?.id ?? null,
        name: wish.name,
        kind: wish.is_internal ? "internal" : "ordinary",
        scopes: [...new Set(wish.scopes)] as Scope[],
        models: wish.models && [...new Set(wish.models)],
        max_output_tokens: wish.max_output_tokens,
        expires_at: wish.lifetime_ms === null ? null : clock.now() + wish.lifetime_ms,
      });
    },
    /** Newest first; of one account, or all. */
    async list(account: string | null): Promise<ListedKey[]> {
      const owner = account === null ? null : await requireAccount(account);
      const names = await nameAccounts(access);
      const keys = await access.keys.list(owner?.id ?? null);
      return keys.map((key) => ({ ...key, account: names.get(key.account_id ?? "") ?? null }));
    },
    /** In force from the key's next request on, also in a server that runs beside. */
    async revoke(id: string): Promise<Key> {
      return (await access.keys.revoke(readKeyId(id))) ?? refuseId(id);
    },
    /** A new secret for the same key; the old one works on for the overlap. */
    async rotate(id: string, overlap_ms: number): Promise<RotatedKey> {
      if (overlap_ms > LIFETIME_MS_MAX) {
        throw new OperatorProblem("an overlap is at most 36500 days");
      }
      const rotated = await access.keys.rotate(readKeyId(id), overlap_ms);
      if (rotated) return rotated;
      if (rotated === undefined) return refuseId(id);
      throw new OperatorProblem(
        `the key "${id}" is revoked or expired, and stays so: \`wadi keys create\` makes another`,
      );
    },
  };
}

function readKeyId(typed: string): string {
  return readId(typed, "key's id", "wadi keys list");
}

function refuseId(id: string): never {
  throw new OperatorProblem(`there is no key "${id}": see \`wadi keys list\``);
}

function refuseWish(wish: KeyWish, models: readonly string[]): void {
  if (wish.name !== null && !NAME.test(wish.name)) {
    throw new OperatorProblem("a key's name is one line of 1 to 128 characters");
  }
  const scope = wish.scopes.find((one) => !(SCOPES as readonly string[]).includes(one));
  if (scope !== undefined) {
    throw refuseUnknown("scope", scope, SCOPES, `a scope is one of ${SCOPES.join(", ")}`);
  }
  const model = wish.models?.find((one) => !models.includes(one));
  if (model !== undefined) throw refuseUnknownModel(model, models);
  const cap = wish.max_output_tokens;
  if (cap !== null && !(Number.isSafeInteger(cap) && cap >= 1)) {
    throw new OperatorProblem("a key's cap on output tokens is a whole number of at least 1");
  }
  const lifetime_ms = wish.lifetime_ms;
  if (lifetime_ms !== null && !(lifetime_ms >= 1 && lifetime_ms <= LIFETIME_MS_MAX)) {
    throw new OperatorProblem("a key ends at least 1 ms and at most 36500 days from now");
  }
}
