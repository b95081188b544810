// What callers send of a connection.
import { type Static, Type } from "@sinclair/typebox";
import { unquoted } from "../../../http/index.ts";
import { maybe, oneOf, TEXT_PATTERN } from "../../../platform/schema.ts";
import { CONNECTION_KINDS } from "./connection.ts";
import { HOSTS_MAX, NAME_CHARACTERS_MAX, SECRET_CHARACTERS_MAX } from "./validation.ts";

/** A name of 253 characters, a colon and a port. */
const HOST_CHARACTERS_MAX = 259;
const HEADER_NAME_CHARACTERS_MAX = 64;
const strict = { additionalProperties: false };

const name = Type.String({
  description: "Unique per owner.",
  minLength: 1,
  maxLength: NAME_CHARACTERS_MAX,
  pattern: TEXT_PATTERN,
});
/** agents.endpoints.tools.p5: no message says it again. */
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
      "`bearer`: `Authorization: Bearer …`; `header`: the header that `header_name` names.",
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
