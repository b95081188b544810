// API keys: create, list, rotate, revoke.
import { isInForce, type Key, SCOPES, type Scope } from "../access/index.ts";
import type { AccountDirectory } from "./accounts.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError, requireById, unknownModel, unknownName } from "./errors.ts";

export interface KeyRequest {
  account: string | null;
  name: string | null;
  is_internal: boolean;
  scopes: readonly string[];
  /** Allowed models; null allows every one. */
  models: readonly string[] | null;
  max_output_tokens: number | null;
  lifetimeMs: number | null;
}

/** Pattern of a name, which fits one line of a table. */
const NAME = /^[^\p{C}\p{Zl}\p{Zp}]{1,128}$/u;
/** Maximum lifetime: a hundred years, which dates can still write. */
export const LIFETIME_MS_MAX = 36_500 * 86_400_000;

export function createKeyAdmin(
  { access: { credentials, keys }, clock, settings }: AdminDeps,
  directory: AccountDirectory,
) {
  const models = settings.models.map(({ id }) => id);
  return {
    /** Returns the secret; only its hash is stored. */
    async create(request: KeyRequest): Promise<{ key: Key; secret: string }> {
      validateRequest(request, models);
      const account = request.account === null ? null : await directory.require(request.account);
      const { key, secret, stored } = credentials.makeKey({
        account_id: account?.id ?? null,
        name: request.name,
        kind: request.is_internal ? "internal" : "ordinary",
        scopes: [...new Set(request.scopes)] as Scope[],
        models: request.models && [...new Set(request.models)],
        max_output_tokens: request.max_output_tokens,
        expires_at: request.lifetimeMs === null ? null : clock.now() + request.lifetimeMs,
      });
      await keys.create(key, stored);
      return { key, secret };
    },
    async list(account: string | null): Promise<(Key & { account: string | null })[]> {
      const owner = account === null ? null : await directory.require(account);
      const names = await directory.names();
      const found = await keys.list(owner?.id ?? null);
      return found.map((key) => ({ ...key, account: names.get(key.account_id ?? "") ?? null }));
    },
    find: (id: string): Promise<Key | undefined> => keys.findById(id),
    /** Takes effect at the key's next request, also in a running server. */
    revoke: (typed: string): Promise<Key> =>
      requireById("key", typed, (id) => keys.revoke(id, clock.now())),
    /** Makes a new secret; the old one keeps working for the overlap. */
    async rotate(typed: string, overlapMs: number) {
      if (overlapMs > LIFETIME_MS_MAX) throw new AdminError("an overlap is at most 36500 days");
      const now = clock.now();
      const until = now + overlapMs;
      const { secret, key } = await requireById("key", typed, async (id) => {
        const made = credentials.makeSecret(id);
        const found = await keys.rotate(made.stored, until);
        return found && { ...made, key: found };
      });
      if (!isInForce(key, null, now)) {
        throw new AdminError(
          `the key "${key.id}" is revoked or expired, and stays so: ` +
            "`wadi keys create` makes another",
        );
      }
      // A secret ends with its key at the latest.
      const previousUntil = overlapMs > 0 ? Math.min(until, key.expires_at ?? until) : null;
      return { key, secret, previousUntil };
    },
  };
}

function validateRequest(request: KeyRequest, models: readonly string[]): void {
  if (request.name !== null && !NAME.test(request.name)) {
    throw new AdminError("a key's name is one line of 1 to 128 characters");
  }
  const scope = request.scopes.find((one) => !(SCOPES as readonly string[]).includes(one));
  if (scope !== undefined) {
    throw unknownName("scope", scope, SCOPES, `a scope is one of ${SCOPES.join(", ")}`);
  }
  const model = request.models?.find((one) => !models.includes(one));
  if (model !== undefined) throw unknownModel(model, models);
  const cap = request.max_output_tokens;
  if (cap !== null && !(Number.isSafeInteger(cap) && cap >= 1)) {
    throw new AdminError("a key's cap on output tokens is a whole number of at least 1");
  }
  const lifetimeMs = request.lifetimeMs;
  if (lifetimeMs !== null && !(lifetimeMs >= 1 && lifetimeMs <= LIFETIME_MS_MAX)) {
    throw new AdminError("a key ends at least 1 ms and at most 36500 days from now");
  }
}
