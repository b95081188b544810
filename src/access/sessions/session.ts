// Sessions of operators in a browser, each begun by a link that works once.
import { type Static, Type } from "@sinclair/typebox";
import type { Clock } from "../../platform/clock.ts";
import type { Ids } from "../../platform/ids.ts";
import { maybe, Resource, Row, Timestamp } from "../../platform/schema.ts";
import { shorten } from "../../platform/text.ts";
import { hashSecret, makeSecret } from "../credentials.ts";
import { Operator } from "../operators/operator.ts";

const LINK_MS = 30 * 60_000;
const SESSION_MS_MAX = 30 * 86_400_000;
const USER_AGENT_CHARACTERS_MAX = 160;

export const OperatorSession = Resource("OperatorSession", {
  id: Type.String({ format: "uuid", description: "Identifier." }),
  operator: Type.String({ description: "Name of the operator." }),
  user_agent: maybe(
    Type.String({ description: "Beginning of the browser's name for itself; null: none sent." }),
  ),
  address: Type.String({ description: "Address that signed in." }),
  created_at: Timestamp("Time of the sign-in."),
  last_seen_at: Timestamp("Time of its last request, to a minute."),
  expires_at: Timestamp("End of the session."),
});
export type OperatorSession = Static<typeof OperatorSession>;

const { operator: _, ...sessionFields } = OperatorSession.properties;

export const StoredSession = Type.Object({
  ...sessionFields,
  operator_id: Type.String(),
  token_hash: Type.String(),
});
export type StoredSession = Static<typeof StoredSession>;

export const StoredLink = Type.Object({
  token_hash: Type.String(),
  operator_id: Type.String(),
  created_at: Timestamp("Time of its creation."),
  expires_at: Timestamp("End of the time to use it."),
  used_at: maybe(Timestamp("Time of its use; null: unused.")),
});
export type StoredLink = Static<typeof StoredLink>;

/** An operator with a link of theirs. */
export const FoundLink = Row(Operator, {
  link_expires_at: Timestamp("End of the time to use the link."),
  link_used_at: maybe(Timestamp("Time of its use; null: unused.")),
});

/** An operator with a session of theirs. */
export const FoundSession = Row(Operator, {
  session_id: Type.String(),
  session_seen_at: Timestamp("Time of its last request, to a minute."),
  session_expires_at: Timestamp("End of the session."),
});
export type FoundSession = Static<typeof FoundSession>;

export const shortenAgent = (user_agent: string): string =>
  shorten(user_agent, USER_AGENT_CHARACTERS_MAX);

export interface SecretSources {
  clock: Clock;
  ids: Ids;
}

export function makeLink({ clock, ids }: SecretSources, operator_id: string) {
  const token = makeSecret(ids, "wadi_link");
  const now = clock.now();
  const expires_at = now + LINK_MS;
  const token_hash = hashSecret(token);
  const stored: StoredLink = {
    token_hash,
    operator_id,
    created_at: now,
    expires_at,
    used_at: null,
  };
  return { stored, token };
}

/** The session ends with its operator at the latest. */
export function makeSession(
  { clock, ids }: SecretSources,
  operator: Pick<Operator, "id" | "expires_at">,
  client: { user_agent: string | null; address: string },
) {
  const token = makeSecret(ids, "wadi_session");
  const now = clock.now();
  const stored: StoredSession = {
    id: ids.uuid(),
    operator_id: operator.id,
    token_hash: hashSecret(token),
    user_agent: client.user_agent && shortenAgent(client.user_agent),
    address: client.address,
    created_at: now,
    last_seen_at: now,
    expires_at: Math.min(now + SESSION_MS_MAX, operator.expires_at ?? Number.POSITIVE_INFINITY),
  };
  return { stored, token };
}
