// Operators: people and programs that may use the operator API, each with a token and a role.
import { type Static, Type } from "@sinclair/typebox";
import type { Clock } from "../../platform/clock.ts";
import type { Ids } from "../../platform/ids.ts";
import { maybe, oneOf, Resource, Row, Timestamp } from "../../platform/schema.ts";
import { hashSecret, makeSecret } from "../credentials.ts";

export const ROLES = ["operator", "approver"] as const;
export type OperatorRole = (typeof ROLES)[number];

export const Operator = Resource("Operator", {
  id: Type.String({ format: "uuid", description: "Identifier." }),
  name: Type.String({ description: "Unique name, 1 to 64 of letters, digits, `_`, `.`, `-`." }),
  role: oneOf(ROLES, "`approver` may only see and decide approvals; `operator` may do all."),
  created_at: Timestamp("Time of creation."),
  expires_at: maybe(Timestamp("End of the token; null: none.")),
  revoked_at: maybe(Timestamp("Time of the revocation; null: in force.")),
});
export type Operator = Static<typeof Operator>;

export const StoredOperator = Row(Operator, { token_hash: Type.String() });
export type StoredOperator = Static<typeof StoredOperator>;

export interface NewOperator {
  name: string;
  role: OperatorRole;
  expires_at: number | null;
}

/** Prefix of tokens, which tells them from API keys. */
const PREFIX = "wadi_op";

export function makeOperator(
  { clock, ids }: { clock: Clock; ids: Ids },
  chosen: NewOperator,
  token = makeSecret(ids, PREFIX),
): { stored: StoredOperator; token: string } {
  const stored: StoredOperator = {
    ...chosen,
    id: ids.uuid(),
    created_at: clock.now(),
    revoked_at: null,
    token_hash: hashSecret(token),
  };
  return { stored, token };
}

export function isActive({ revoked_at, expires_at }: Operator, now: number): boolean {
  return revoked_at === null && (expires_at === null || expires_at > now);
}
