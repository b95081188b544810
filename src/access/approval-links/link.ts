// Links by which a teammate without an operator decides approvals; each becomes one session.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, Resource, Row, Timestamp } from "../../platform/schema.ts";
import { hashSecret, makeSecret } from "../credentials.ts";
import { Operator } from "../operators/operator.ts";
import { type SecretSources, shortenAgent } from "../sessions/session.ts";

/** Approvals that a link shows, and the name that stands in their decisions. */
export interface LinkScope {
  link_id: string;
  person: string;
  account_id: string;
  /** The only approval; null: all of the account. */
  approval_id: string | null;
}

export const ApprovalLink = Resource("ApprovalLink", {
  id: Type.String({ format: "uuid", description: "Identifier, also of its session." }),
  operator: Type.String({ description: "Name of the operator who made it." }),
  person: Type.String({ description: "Whom it was made for." }),
  account_id: Type.String({ description: "Account whose approvals it shows." }),
  approval_id: maybe(
    Type.String({ description: "The only one that it shows; null: all of the account." }),
  ),
  user_agent: maybe(
    Type.String({ description: "Beginning of the browser's name for itself; null: none sent." }),
  ),
  address: Type.String({ description: "Address that opened it; empty: nobody has." }),
  created_at: Timestamp("Time of its creation."),
  used_at: maybe(Timestamp("Time when it was opened; null: nobody has.")),
  last_seen_at: Timestamp("Time of its last request, to a minute; of its creation before."),
  expires_at: Timestamp("End of the time to open it, and of its session."),
});
export type ApprovalLink = Static<typeof ApprovalLink>;

const { operator: _, ...linkFields } = ApprovalLink.properties;

export const StoredApprovalLink = Type.Object({
  ...linkFields,
  operator_id: Type.String(),
  token_hash: Type.String(),
  /** Set once it is opened. */
  session_hash: maybe(Type.String()),
});
export type StoredApprovalLink = Static<typeof StoredApprovalLink>;

/** An operator with a link of theirs. */
export const FoundApprovalLink = Row(Operator, {
  ...{ link_id: Type.String(), person: linkFields.person },
  ...{ account_id: linkFields.account_id, approval_id: linkFields.approval_id },
  link_used_at: linkFields.used_at,
  link_seen_at: linkFields.last_seen_at,
  link_expires_at: linkFields.expires_at,
});
export type FoundApprovalLink = Static<typeof FoundApprovalLink>;

/** A link as it is opened. */
export interface LinkUse {
  token_hash: string;
  session_hash: string;
  user_agent: string | null;
  address: string;
  now: number;
}

export type NewApprovalLink = Pick<
  StoredApprovalLink,
  "operator_id" | "person" | "account_id" | "approval_id" | "expires_at"
>;

export function makeApprovalLink({ clock, ids }: SecretSources, chosen: NewApprovalLink) {
  const token = makeSecret(ids, "wadi_approval");
  const now = clock.now();
  const stored: StoredApprovalLink = {
    ...chosen,
    ...{ id: ids.uuid(), token_hash: hashSecret(token), session_hash: null },
    ...{ user_agent: null, address: "", created_at: now, used_at: null, last_seen_at: now },
  };
  return { stored, token };
}

/** Makes the session's token, which replaces the link's. */
export function makeLinkUse(
  { clock, ids }: SecretSources,
  link_token: string,
  client: { user_agent: string | null; address: string },
) {
  const token = makeSecret(ids, "wadi_approver");
  const use: LinkUse = {
    token_hash: hashSecret(link_token),
    session_hash: hashSecret(token),
    user_agent: client.user_agent && shortenAgent(client.user_agent),
    address: client.address,
    now: clock.now(),
  };
  return { use, token };
}
