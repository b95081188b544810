// Tokens of connections by the client credentials grant of OAuth 2.0, kept until shortly before
// their end.
import type { GuardedEgress, GuardedReply } from "../../../net/index.ts";
import type { Clock } from "../../../platform/clock.ts";
import { parseObject } from "../../../platform/json.ts";
import { SizeCache } from "../../../platform/size-cache.ts";
import type { ConnectionRow, OauthClient } from "./connection.ts";

const TIMEOUT_MS = 10_000;
const REPLY_BYTES_MAX = 64 * 1024;
const CACHED_CHARACTERS_MAX = 1_000_000;
/** Lifetime of a token whose server does not tell it. */
const LIFETIME_S = 300;
/** A token that was revoked early is asked for again within this time. */
const LIFETIME_S_MAX = 3_600;
/** Time before its end at which a token is asked for again. */
const EARLY_S = 30;
const TOKEN = /^[!-~]{1,8192}$/;

type FoundToken = { ok: true; token: string; isNew: boolean } | { ok: false; problem: string };
type TokenOwner = Pick<ConnectionRow, "id" | "secret_set_at">;

interface KeptToken {
  token: string;
  /** On the monotonic clock. */
  endAt: number;
}

export interface TokensOptions {
  egress: Pick<GuardedEgress, "request">;
  clock: Clock;
}

export class Tokens {
  readonly #options: TokensOptions;
  readonly #kept = new SizeCache<KeptToken>(CACHED_CHARACTERS_MAX);
  readonly #asked = new Map<string, Promise<FoundToken>>();

  constructor(options: TokensOptions) {
    this.#options = options;
  }

  /** Finds the token of a connection; calls at the same time share one request. */
  async find(owner: TokenOwner, oauth: OauthClient, secret: string): Promise<FoundToken> {
    const key = keyOf(owner);
    const known = this.#kept.get(key);
    if (known && this.#options.clock.monotonic() < known.endAt) {
      return { ok: true, token: known.token, isNew: false };
    }
    let asking = this.#asked.get(key);
    if (!asking) {
      asking = this.#ask(key, oauth, secret).finally(() => this.#asked.delete(key));
      this.#asked.set(key, asking);
    }
    return asking;
  }

  /** Forgets a token that was refused, but not a newer one that is kept by now. */
  forget(owner: TokenOwner, token: string): void {
    const key = keyOf(owner);
    if (this.#kept.get(key)?.token === token) this.#kept.delete(key);
  }

  async #ask(key: string, oauth: OauthClient, secret: string): Promise<FoundToken> {
    const { egress, clock } = this.#options;
    const reply = await egress.request({
      url: oauth.token_url,
      method: "POST",
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        accept: "application/json",
        authorization: writeBasic(oauth.client_id, secret),
      },
      body: new URLSearchParams({
        grant_type: "client_credentials",
        ...(oauth.scope && { scope: oauth.scope }),
      }).toString(),
      timeoutMs: TIMEOUT_MS,
      responseBytesMax: REPLY_BYTES_MAX,
    });
    if (!reply.ok) return { ok: false, problem: `No token was given: ${reply.message}` };
    const read = readToken(reply);
    if (!read) {
      return { ok: false, problem: `No token was given: its server answered ${reply.status}.` };
    }
    const { token, lifetimeS } = read;
    const endAt = clock.monotonic() + (lifetimeS - EARLY_S) * 1_000;
    this.#kept.set(key, { token, endAt }, token.length + key.length);
    return { ok: true, token, isNew: true };
  }
}

/** Names the secret, too: tokens of an earlier one are not used with another. */
const keyOf = ({ id, secret_set_at }: TokenOwner) => `${id} ${secret_set_at}`;

/** RFC 6749, section 2.3.1: both parts are encoded as in a form. */
function writeBasic(client_id: string, secret: string): string {
  const encode = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);
  return `Basic ${btoa(`${encode(client_id)}:${encode(secret)}`)}`;
}

function readToken({ status, body, truncated }: GuardedReply) {
  if (status !== 200 || truncated) return undefined;
  const reply = parseObject(new TextDecoder().decode(body));
  if (!reply) return undefined;
  const { access_token, token_type, expires_in } = reply;
  if (typeof access_token !== "string" || !TOKEN.test(access_token)) return undefined;
  if (typeof token_type !== "string" || token_type.toLowerCase() !== "bearer") return undefined;
  const told = typeof expires_in === "number" && expires_in > 0 ? expires_in : LIFETIME_S;
  return { token: access_token, lifetimeS: Math.min(told, LIFETIME_S_MAX) };
}
