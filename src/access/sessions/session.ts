// Sessions of operators in a browser, each begun by a link that works once.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, Resource, Row, Timestamp } from "../../platform/schema.ts";
import { Operator } from "../operators/operator.ts";

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
