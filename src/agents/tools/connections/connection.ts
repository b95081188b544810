// Connections as they are sent, stored and shown: secrets of endpoints, which are never shown.
import { type Static, Type } from "@sinclair/typebox";
import {
  FilledText,
  maybe,
  oneOf,
  Resource,
  Row,
  StoredText,
  Timestamp,
  unquoted,
} from "../../../platform/schema.ts";
import { URL_CHARACTERS_MAX } from "../../../platform/text.ts";

export const NAME_CHARACTERS_MAX = 200;
export const SECRET_CHARACTERS_MAX = 8_192;
export const HOSTS_MAX = 20;
/** Maximum length: a name of 253 characters, a colon and a port. */
const HOST_CHARACTERS_MAX = 259;
const HEADER_NAME_CHARACTERS_MAX = 64;

export const CONNECTION_KINDS = ["bearer", "header", "client_credentials"] as const;
export type ConnectionKind = (typeof CONNECTION_KINDS)[number];

const TOKEN_SCOPE_CHARACTERS_MAX = 1_024;
const CLIENT_ID_CHARACTERS_MAX = 512;

/** OAuth 2.0: the client credentials grant of RFC 6749, section 4.4. */
const OauthClient = Type.Object(
  {
    token_url: Type.String({
      description: "Where tokens are asked for, as an https URL; the secret goes there only.",
      minLength: 1,
      maxLength: URL_CHARACTERS_MAX,
      examples: ["https://login.example.com/oauth/token"],
    }),
    client_id: StoredText("The client's id.", CLIENT_ID_CHARACTERS_MAX, {
      minLength: 1,
      examples: ["wadi"],
    }),
    scope: Type.Optional(
      maybe(
        StoredText(
          "The scopes of the tokens, with spaces between them. Null: the server's own.",
          TOKEN_SCOPE_CHARACTERS_MAX,
        ),
      ),
    ),
  },
  { ...{ additionalProperties: false }, description: "How tokens are asked for." },
);
export type OauthClient = Static<typeof OauthClient>;

/** agents.does.connection, agents.resources.connection, agents.endpoints.tools.p5 */
export const ToolConnection = Resource(
  "Connection",
  {
    id: Type.String({ format: "uuid", description: "Identifier." }),
    name: Type.String({ description: "Unique per owner, 1 to 200 characters." }),
    kind: oneOf(
      CONNECTION_KINDS,
      "`bearer`: the secret is sent as `Authorization: Bearer …`; `header`: as the value of the " +
        "header named; `client_credentials`: it buys tokens, which are sent as `bearer`.",
    ),
    header_name: maybe(
      Type.String({ description: "The header that carries the secret; null: of other kinds." }),
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

/** A connection with how it asks for tokens, which callers read by a route of its own. */
export const WholeConnection = Row(ToolConnection, {
  oauth: maybe(
    Type.Unsafe<OauthClient>({
      ...OauthClient,
      description: "How tokens are asked for; null: of other kinds than client_credentials.",
    }),
  ),
});

/** Shows how tokens are asked for. Connections themselves are shown as before that kind. */
export const OauthSettings = Resource(
  "OauthSettings",
  {
    token_url: OauthClient.properties.token_url,
    client_id: OauthClient.properties.client_id,
    scope: maybe(Type.String({ description: "The scopes of the tokens; null: the server's own." })),
  },
  "How a connection of kind client_credentials asks for its tokens.",
);

export const ConnectionRow = Row(WholeConnection, { account_id: Type.String() });
export type ConnectionRow = Static<typeof ConnectionRow>;

export const ConnectionList = Resource(
  "ConnectionList",
  { data: Type.Array(ToolConnection, { description: "Newest first." }) },
  "The connections of the account.",
);

const strict = { additionalProperties: false };

const name = FilledText("Unique per owner.", NAME_CHARACTERS_MAX);
/** agents.endpoints.tools.p5: messages never repeat a secret. */
const secret = unquoted(
  Type.String({
    description: "Visible ASCII characters; of kind header with spaces between them, too.",
    minLength: 1,
    maxLength: SECRET_CHARACTERS_MAX,
    examples: ["a-secret-of-the-endpoint"],
  }),
);
const allowed_hosts = Type.Array(
  Type.String({
    description: 'A host in lower case, such as "api.example.com" or "127.0.0.1:9000".',
    minLength: 1,
    maxLength: HOST_CHARACTERS_MAX,
    examples: ["api.example.com"],
  }),
  {
    description: "Where the secret may be sent; empty: to the host of the first tool with it.",
    maxItems: HOSTS_MAX,
  },
);

/** agents.resources.connection */
export const NewConnection = Type.Object(
  {
    name,
    kind: oneOf(
      CONNECTION_KINDS,
      "`bearer`: `Authorization: Bearer …`; `header`: the header that `header_name` names; " +
        "`client_credentials`: a token that `oauth` tells how to ask for.",
    ),
    header_name: Type.Optional(
      maybe(
        Type.String({
          description: "Of kind header: the header that carries the secret.",
          minLength: 1,
          maxLength: HEADER_NAME_CHARACTERS_MAX,
          examples: ["X-Api-Key"],
        }),
      ),
    ),
    oauth: Type.Optional(maybe(OauthClient)),
    secret,
    allowed_hosts: Type.Optional(maybe(allowed_hosts)),
  },
  {
    ...strict,
    $id: "NewConnection",
    description: "A connection with its secret, which is never shown.",
    examples: [{ name: "Orders", kind: "bearer", secret: "a-secret-of-the-endpoint" }],
  },
);
export type NewConnection = Static<typeof NewConnection>;

export const ConnectionPatch = Type.Object(
  { name: Type.Optional(name), allowed_hosts: Type.Optional(maybe(allowed_hosts)) },
  {
    ...strict,
    $id: "ConnectionPatch",
    description:
      "What is left out stays as it is. Of its hosts some can be taken away, but not all of " +
      "them; others are set together with the secret.",
  },
);
export type ConnectionPatch = Static<typeof ConnectionPatch>;

export const NewSecret = Type.Object(
  { secret, allowed_hosts: Type.Optional(maybe(allowed_hosts)) },
  {
    ...strict,
    $id: "NewSecret",
    description:
      "The secret that takes the place of the one before; its hosts stay unless they are sent.",
    examples: [{ secret: "another-secret-of-the-endpoint" }],
  },
);
