// The caller behind a request: from the Authorization header to the key.
import type { Bound } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import { apiError } from "../platform/errors.ts";
import { hashSecret, isInForce, type Key } from "./credentials.ts";
import type { CallerLimits } from "./limits.ts";
import { type ModelStates, pickModelStates } from "./model-states.ts";
import type { Scope } from "./scopes.ts";
import type { keyStore, LimitedKey } from "./store.ts";

export interface Caller {
  key_id: string;
  /** The platform never acts for a key without an owner. */
  account_id: string | null;
  kind: Key["kind"];
  scopes: readonly Scope[];
  /** Models the key may call; null allows all. */
  models: readonly string[] | null;
  max_output_tokens: number | null;
  /** Budgets; absent where neither the key nor its account has one. */
  limits?: CallerLimits;
  /** Read with the key; absent: they are read where they are needed. */
  model_states?: ModelStates;
}

/** Finds the caller; throws `missing_api_key` or `invalid_api_key`. */
export type Identify = (authorization: string | null) => Promise<Caller>;

/** Maximum length of a key; longer texts are not hashed. */
const SECRET_CHARACTERS_MAX = 512;
const BEARER = /^Bearer +([^ ].*)$/i;

/**
 * gateway.authentication.1, gateway.authentication.2: every request reads the key, so a revoked
 * one fails at its next request.
 */
export function createIdentify(
  keys: Pick<Bound<typeof keyStore>, "find">,
  clock: Clock,
  noteUse: (key_id: string) => void = () => {},
): Identify {
  return async (authorization) => {
    const secret = BEARER.exec(authorization ?? "")?.[1];
    // gateway.errors.missing_api_key
    if (secret === undefined) throw apiError("missing_api_key");
    // gateway.errors.invalid_api_key: the same bytes for every fault.
    if (secret.length > SECRET_CHARACTERS_MAX) throw apiError("invalid_api_key");
    const read_at = clock.monotonic();
    const key = await keys.find(hashSecret(secret));
    if (!key || !isInForce(key, key.secret_expires_at, clock.now()))
      throw apiError("invalid_api_key");
    noteUse(key.id);
    return { ...describeCaller(key), model_states: pickModelStates(key, read_at) };
  };
}

/** Finds the caller of a key by its id; throws `invalid_api_key` unless it is in force. */
export type IdentifyKey = (key_id: string) => Promise<Caller>;

export function createIdentifyKey(
  keys: Pick<Bound<typeof keyStore>, "findById">,
  clock: Clock,
): IdentifyKey {
  return async (key_id) => {
    const key = await keys.findById(key_id);
    if (!key || !isInForce(key, null, clock.now())) throw apiError("invalid_api_key");
    return describeCaller(key);
  };
}

/** Finds the caller of work that outlives its request, while the key may call the API. */
export type FindCaller = (key_id: string) => Promise<Caller | undefined>;

/** gateway.authentication.2, gateway.authentication.3: the same rules without a secret. */
export function createFindCaller(
  keys: Pick<Bound<typeof keyStore>, "findById">,
  clock: Clock,
): FindCaller {
  return async (key_id) => {
    const key = await keys.findById(key_id);
    if (!key || key.kind === "internal" || !isInForce(key, null, clock.now())) return undefined;
    return describeCaller(key);
  };
}

function describeCaller({ id: key_id, limits: own, account_limits, ...key }: LimitedKey): Caller {
  const { account_id, kind, scopes, models, max_output_tokens } = key;
  const caller: Caller = { key_id, account_id, kind, scopes, models, max_output_tokens };
  if (own || account_limits) caller.limits = { account: account_limits, key: own };
  return caller;
}

export function accountOf({ account_id, key_id }: Pick<Caller, "account_id" | "key_id">): string {
  return account_id ?? key_id;
}

/** gateway.authentication.3: a platform-internal key may not call the API. */
export function isInternal(caller: Caller): boolean {
  return caller.kind === "internal";
}
