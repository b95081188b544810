// Accounts, keys, limits and sessions as the operator API gives them, and what follows from them.
import { post } from "../api.ts";

export interface ListedKey {
  id: string;
  account: string | null;
  name: string | null;
  kind: "ordinary" | "internal";
  scopes: string[];
  models: string[] | null;
  max_output_tokens: number | null;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  ends_in: string | null;
  last_used_at: string | null;
}

export interface ShownKey extends ListedKey {
  active_runs: number;
  open_streams: number | null;
}

export interface AccountLine {
  name: string;
  held_since: string | null;
  hold_reason: string | null;
  agents: number;
  granted_models: string[];
}

export interface LimitLine {
  account?: string;
  name: LimitId;
  maximum: number | string;
  used: number | string;
  starts_at: string;
  resets_at: string;
}

export const MEASURES = ["requests", "tokens", "cost"] as const;
export const PERIODS = ["minute", "day", "month"] as const;
export type LimitId = `${(typeof MEASURES)[number]}_${(typeof PERIODS)[number]}`;

export const SCOPES = [
  "reasoning",
  "think",
  "embeddings",
  "search",
  "agents",
  "agents.approve",
] as const;

/** A secret that a reply has shown; it stands nowhere else. */
export interface MadeSecret {
  id: string;
  name: string;
  secret: string;
  /** End of the secret before it, after a rotation; null: it is refused now. */
  previousUntil?: string | null;
  isCopied: boolean;
}

/** Both work until then, after a rotation. */
interface SecretReply {
  id: string;
  name: string | null;
  secret: string;
  previous_secret_expires_at?: string | null;
}

export async function requestSecret(path: string, body: object): Promise<MadeSecret> {
  const reply = await post<SecretReply>(path, body);
  const made = { id: reply.id, secret: reply.secret, isCopied: false };
  const { previous_secret_expires_at: previousUntil } = reply;
  return { ...made, name: nameKey(reply), ...(previousUntil !== undefined && { previousUntil }) };
}

/** A key without a name is known by the end of its id. */
export const nameKey = ({ name, id }: { name: string | null; id: string }): string =>
  name ?? id.slice(-8);

/** When the key ended; null: it is in force. */
export function endOf({ revoked_at, expires_at }: ListedKey, nowMs: number): string | null {
  if (revoked_at !== null) return revoked_at;
  return expires_at !== null && Date.parse(expires_at) <= nowMs ? expires_at : null;
}

/** Keys by which an operator may act for an account, the oldest first. */
export const listUsable = (keys: readonly ListedKey[], nowMs: number): ListedKey[] =>
  keys
    .filter((key) => key.account !== null && key.kind === "ordinary" && endOf(key, nowMs) === null)
    .toSorted((a, b) => (a.created_at + a.name).localeCompare(b.created_at + b.name));
