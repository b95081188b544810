// API keys: create, list, rotate, revoke.
import {
  isInForce,
  type Key,
  type KeyChange,
  SCOPES,
  type Scope,
  type SeenKey,
} from "../access/index.ts";
import { activityStore } from "../inventory/index.ts";
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

/** Fields to change; null removes a bound, an omitted field stays. */
export type KeyUpdate = Partial<Omit<KeyRequest, "account" | "is_internal">>;

/** Pattern of a name, which fits one line of a table. */
const NAME = /^[^\p{C}\p{Zl}\p{Zp}]{1,128}$/u;
/** Maximum lifetime: a hundred years, which dates can still write. */
export const LIFETIME_MS_MAX = 36_500 * 86_400_000;

export function createKeyAdmin(
  { access: { credentials, keys }, clock, database, server, settings }: AdminDeps,
  directory: AccountDirectory,
) {
  const models = settings.models.map(({ id }) => id);
  const activity = database.bind(activityStore);
  return {
    /** Returns the secret; only its hash is stored. */
    async create(request: KeyRequest): Promise<{ key: Key; secret: string }> {
      validateFields(request, models);
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
    async list(account: string | null): Promise<(SeenKey & { account: string | null })[]> {
      const owner = account === null ? null : await directory.require(account);
      const names = await directory.names();
      const found = await keys.list(owner?.id ?? null);
      return found.map((key) => ({ ...key, account: names.get(key.account_id ?? "") ?? null }));
    },
    find: (id: string): Promise<Key | undefined> => keys.findById(id),
    async show(typed: string) {
      const key = await requireById("key", typed, keys.findSeen);
      const account = (await directory.names()).get(key.account_id ?? "") ?? null;
      const active_runs = await activity.countRunsOfKey(key.id);
      return { ...key, account, active_runs, open_streams: server?.countStreams(key.id) ?? null };
    },
    /** Takes effect at the key's next request, and at the next round of its runs. */
    async update(typed: string, update: KeyUpdate): Promise<Key> {
      validateFields(update, models);
      const now = clock.now();
      const change = writeChange(update, now);
      const key = await requireById("key", typed, (id) => keys.update(id, change, now));
      if (!isInForce(key, null, now)) throw keyOver(key);
      return key;
    },
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
      if (!isInForce(key, null, now)) throw keyOver(key);
      // A secret ends with its key at the latest.
      const previousUntil = overlapMs > 0 ? Math.min(until, key.expires_at ?? until) : null;
      return { key, secret, previousUntil };
    },
  };
}

function writeChange({ lifetimeMs, scopes, models, ...rest }: KeyUpdate, now: number): KeyChange {
  const change = {
    ...rest,
    scopes: scopes && ([...new Set(scopes)] as Scope[]),
    models: models && [...new Set(models)],
    expires_at: lifetimeMs && now + lifetimeMs,
  };
  // A field without a value would overwrite that of the key.
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given);
}

function keyOver({ id }: Key): AdminError {
  return new AdminError(
    `the key "${id}" is revoked or expired, and stays so: \`wadi keys create\` makes another`,
  );
}

function validateFields(fields: KeyUpdate, models: readonly string[]): void {
  const { name, scopes, max_output_tokens: cap, lifetimeMs } = fields;
  if (typeof name === "string" && !NAME.test(name)) {
    throw new AdminError("a key's name is one line of 1 to 128 characters");
  }
  const scope = scopes?.find((one) => !(SCOPES as readonly string[]).includes(one));
  if (scope !== undefined) {
    throw unknownName("scope", scope, SCOPES, `a scope is one of ${SCOPES.join(", ")}`);
  }
  const model = fields.models?.find((one) => !models.includes(one));
  if (model !== undefined) throw unknownModel(model, models);
  if (typeof cap === "number" && !(Number.isSafeInteger(cap) && cap >= 1)) {
    throw new AdminError("a key's cap on output tokens is a whole number of at least 1");
  }
  if (typeof lifetimeMs === "number" && !(lifetimeMs >= 1 && lifetimeMs <= LIFETIME_MS_MAX)) {
    throw new AdminError("a key ends at least 1 ms and at most 36500 days from now");
  }
}
