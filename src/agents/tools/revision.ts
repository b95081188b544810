// A revision of a tool: as the API shows it, and as an account's is stored.
import { type Static, Type } from "@sinclair/typebox";
import { Money, maybe, oneOf, Resource, Timestamp } from "../../platform/schema.ts";
import { RISKS, TOOL_OUTCOMES } from "./contract.ts";
import { McpOrigin } from "./mcp/origin.ts";

/** agents.resources.tool */
export const ToolRevision = Resource(
  "ToolRevision",
  {
    name: Type.String({ description: "The tool's name: 1 to 64 of `a-z 0-9 _`." }),
    kind: oneOf(
      ["builtin", "http", "mcp"],
      "`builtin`: a tool of the platform; `http`: one that the account registered; `mcp`: one of " +
        "an MCP server that the account registered.",
    ),
    revision: Type.Integer({ description: "The revision's number, from 1." }),
    risk: oneOf(RISKS, "What a call can do: it decides which calls wait for an approval."),
    title: maybe(Type.String({ description: "A name for people; null: it has none." })),
    description: Type.String({ description: "What the tool does, as the model reads it." }),
    parameters: Type.Unsafe<Record<string, unknown>>({
      type: "object",
      description: "The arguments: JSON Schema 2020-12 of type object.",
    }),
    endpoint: maybe(
      Type.String({
        description:
          "Where an http tool receives its arguments as JSON, or the address of an mcp tool's " +
          "server; null: it is built in.",
      }),
    ),
    connection_id: maybe(
      Type.String({
        description: "The connection whose secret is sent with every call; null: none is.",
      }),
    ),
    timeout_ms: Type.Integer({ description: "The longest that a call may take, in milliseconds." }),
    external_content: Type.Boolean({
      description: "true: results may bring text from outside the platform, which marks the run.",
    }),
    idempotent: Type.Boolean({
      description: "true: a call whose outcome is unknown may be sent again with the same key.",
    }),
    price_sar: maybe(
      Money("What a call costs, in SAR with six decimals; null: unknown, and never zero."),
    ),
    status: oneOf(["enabled", "disabled"], "`disabled`: no run can call it."),
    latest: Type.Boolean({ description: "true: no later revision of the tool exists." }),
    created_at: Timestamp("When the revision was made; of a built-in tool a fixed date."),
  },
  "A tool as it is, or as it was in one of its revisions.",
);
export type ToolRevision = Static<typeof ToolRevision>;

export const ToolList = Resource(
  "ToolList",
  { data: Type.Array(ToolRevision, { description: "The tools that an agent version may use." }) },
  "The catalogue of tools.",
);

export const ToolRevisionList = Resource(
  "ToolRevisionList",
  {
    data: Type.Array(ToolRevision, { description: "Newest first." }),
    next_before: maybe(
      Type.Integer({ description: "`before` of the next page; null: this is the last." }),
    ),
  },
  "A page of a tool's revisions.",
);

export const ToolTrial = Resource(
  "ToolTrial",
  {
    outcome: oneOf(
      TOOL_OUTCOMES,
      "What became of the call; `outcome_unknown`: it was sent, and nobody knows whether it was " +
        "done.",
    ),
    content: Type.String({ description: "What a model would be told." }),
    truncated: Type.Boolean({ description: "true: `content` is head and tail of what came." }),
    http_status: maybe(
      Type.Integer({ description: "What the endpoint answered with; null: it did not answer." }),
    ),
    duration_ms: Type.Integer({ description: "How long the call took, in milliseconds." }),
    external: Type.Boolean({
      description: "true: text from outside the platform stands in `content`.",
    }),
  },
  "One call of a tool's latest revision, which belongs to no run.",
);

/** Pattern of a tool's name; any other text is the name of no tool. */
export const TOOL_NAME = "^[a-z0-9_]{1,64}$";
const NAME = new RegExp(TOOL_NAME);

export function isToolName(name: string): boolean {
  return NAME.test(name);
}

const {
  kind: _kind,
  price_sar: _price,
  ...columns
} = {
  account_id: Type.String(),
  ...ToolRevision.properties,
  endpoint: Type.String(),
  /** Set for tools of MCP servers. */
  mcp: maybe(McpOrigin),
};
const { status: _status, latest: _latest, ...unchanging } = columns;

export const StoredRevision = Type.Object(unchanging);
export type StoredRevision = Static<typeof StoredRevision>;

export const ToolRevisionRow = Type.Object(columns);
export type ToolRevisionRow = Static<typeof ToolRevisionRow>;

/** agents.does.cost.2: calls of an account's own tools cost nothing. */
export const HTTP_PRICE = 0;

/** agents.resources.tool */
export function describeOwnRevision({ account_id: _, mcp, ...row }: ToolRevisionRow): ToolRevision {
  return { ...row, kind: mcp === null ? "http" : "mcp", price_sar: HTTP_PRICE };
}

/** Describes a tool as the engine reads it; how it is called depends on its kind. */
export function describeCallable(tool: StoredRevision) {
  const { name, description, risk, revision, external_content, timeout_ms, parameters } = tool;
  return { name, description, risk, revision, external_content, timeout_ms, parameters };
}
