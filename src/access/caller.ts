// Who sends a request: from the Authorization header to the key that stands behind it.

import type { Bound } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import { apiError } from "../platform/errors.ts";
import { hashSecret, isInForce, type Key } from "./key.ts";
import type { Scope } from "./scopes.ts";
import type { keyStore } from "./store.ts";

export interface Caller {
  key_id: string;
  /** null: a key without an owner, for which the platform never acts. */
  account_id: string | null;
  kind: Key["kind"];
  scopes: readonly Scope[];
  /** The only models the key may call; null: no such list. */
  models: readonly string[] | null;
  /** Cap on the tokens of a reply; null: none of its own. */
  max_output_tokens: number | null;
}

/** The caller behind an Authorization header; refuses `missing_api_key` or `invalid_api_key`. */
export type Identify = (authorization: string | null) => Promise<Caller>;

/** A longer header is no key of ours; hashing it would only cost. */
const SECRET_CHARACTERS_MAX = 512;
const BEARER = /^Bearer +([^ ].*)$/i;

/**
 * gateway.authentication.1, gateway.authentication.2: the key is read at every request, so that a
 * revoked one is out at its next.
 */
export function createIdentify(keys: Pick<Bound<typeof keyStore>, "find">, clock: Clock): Identify {
  return async (authorization) => {
    const secret = BEARER.exec(authorization ?? "")?.[1];
    // gateway.errors.missing_api_key
    if (secret === undefined) throw apiError("missing_api_key");
    // gateway.errors.invalid_api_key: the same bytes, whatever is wrong with it.
    if (secret.length > SECRET_CHARACTERS_MAX) throw apiError("invalid_api_key");
    const key = await keys.find(hashSecret(secret));
    if (!key || !isInForce(key, key.secret_expires_at, clock.now()))
      throw apiError("invalid_api_key");
    return describeCaller(key);
  };
}

/**
 * The caller behind a key's id, for work that goes on when its request is long over; undefined: the
 * key may not call the API now, or there is none.
 */
export type FindCaller = (key_id: string) => Promise<Caller | undefined>;

/** gateway.authentication.2, gateway.authentication.3: as at a request, whatever secret it has. */
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

function describeCaller(key: Key): Caller {
  return {
    key_id: key.id,
    account_id: key.account_id,
    kind: key.kind,
    scopes: key.scopes,
    models: key.models,
    max_output_tokens: key.max_output_tokens,
  };
}

/** Whose turn and whose quota it is: the account's, or that of a key without one. */
export function accountOf({ account_id, key_id }: Pick<Caller, "account_id" | "key_id">): string {
  return account_id ?? key_id;
}

/** gateway.authentication.3: a platform-internal key may not call the API. */
export function isInternal(caller: Caller): boolean {
  return caller.kind === "internal";
}
