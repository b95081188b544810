// Requests that register MCP servers and judge their tools.
import { type Static, Type } from "@sinclair/typebox";
import { Uuid } from "../../../http/index.ts";
import { maybe, oneOf } from "../../../platform/schema.ts";
import { URL_CHARACTERS_MAX } from "../../../platform/text.ts";
import { RISKS } from "../contract.ts";

const TIMEOUT_MS_MIN = 1_000;
const TIMEOUT_MS_MAX = 120_000;

const strict = { additionalProperties: false };

export const NewMcpServer = Type.Object(
  {
    name: Type.String({
      description: "1 to 24 of `a-z 0-9 _`, unique per owner; its tools are named `name_tool`.",
      pattern: "^[a-z0-9_]{1,24}$",
      examples: ["orders"],
    }),
    url: Type.String({
      description:
        "Where the server receives requests by Streamable HTTP: an https URL of a public DNS " +
        "name, or a place that the operator has opened.",
      minLength: 1,
      maxLength: URL_CHARACTERS_MAX,
      examples: ["https://api.example.com/mcp"],
    }),
    connection_id: Type.Optional(
      maybe(Uuid("The connection whose secret is sent with every request. Null: none.")),
    ),
    timeout_ms: Type.Optional(
      maybe(
        Type.Integer({
          description: "The longest that a call may take, in milliseconds. Null: 30000.",
          minimum: TIMEOUT_MS_MIN,
          maximum: TIMEOUT_MS_MAX,
        }),
      ),
    ),
  },
  {
    ...strict,
    $id: "NewMcpServer",
    description: "An MCP server. Its tools are read at once.",
    examples: [{ name: "orders", url: "https://api.example.com/mcp" }],
  },
);
export type NewMcpServer = Static<typeof NewMcpServer>;

export const ToolAcceptance = Type.Object(
  {
    revision: Type.Integer({
      description: "The latest revision, as its difference was shown.",
      minimum: 1,
      maximum: 2_147_483_647,
    }),
  },
  {
    ...strict,
    $id: "ToolAcceptance",
    description: "The change that the owner accepts.",
    examples: [{ revision: 2 }],
  },
);

export const ToolPatch = Type.Object(
  { risk: oneOf(RISKS, "What a call can do: it decides which calls wait for an approval.") },
  {
    ...strict,
    $id: "ToolPatch",
    description: "What the owner says of a tool of an MCP server.",
    examples: [{ risk: "read" }],
  },
);
