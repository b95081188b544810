// A connection as its owner sees it: whose secret goes where, and never the secret.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, oneOf, Resource, Row, Timestamp } from "../../../platform/schema.ts";

export const CONNECTION_KINDS = ["bearer", "header"] as const;
export type ConnectionKind = (typeof CONNECTION_KINDS)[number];

/** agents.does.connection, agents.resources.connection, agents.endpoints.tools.p5 */
export const ToolConnection = Resource(
  "Connection",
  {
    id: Type.String({ format: "uuid", description: "Identifier." }),
    name: Type.String({ description: "Unique per owner, 1 to 200 characters." }),
    kind: oneOf(
      CONNECTION_KINDS,
      "`bearer`: the secret is sent as `Authorization: Bearer …`; `header`: as the value of the " +
        "header named.",
    ),
    header_name: maybe(
      Type.String({ description: "The header that carries the secret; null: of kind bearer." }),
    ),
    allowed_hosts: Type.Array(
      Type.String({ description: "A host, with its port where that is not the usual one." }),
      {
        description:
          "Where the secret may be sent; empty: nowhere yet, the first tool that is registered " +
          "with it adds its own host.",
      },
    ),
    secret_set_at: Timestamp("When its secret was set."),
    last_used_at: maybe(
      Timestamp("When a call sent the secret, within a minute; null: none has yet."),
    ),
    created_at: Timestamp("When it was created."),
    updated_at: Timestamp("When it, or its secret, was last changed."),
  },
  "A secret that calls of http tools carry; it is never shown.",
);
export type ToolConnection = Static<typeof ToolConnection>;

export const ConnectionRow = Row(ToolConnection, { account_id: Type.String() });
export type ConnectionRow = Static<typeof ConnectionRow>;

export const ConnectionList = Resource(
  "ConnectionList",
  { data: Type.Array(ToolConnection, { description: "Newest first." }) },
  "The connections of the account.",
);
