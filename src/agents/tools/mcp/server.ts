// MCP servers as they are sent, stored and shown, with the tools that come from them.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, oneOf, Resource, Row, Timestamp } from "../../../platform/schema.ts";
import { RISKS } from "../contract.ts";
import { McpOrigin, SkippedTool } from "./origin.ts";

const fields = {
  id: Type.String({ format: "uuid", description: "Identifier." }),
  name: Type.String({ description: "Unique per owner; the names of its tools begin with it." }),
  url: Type.String({ description: "Where the server receives requests." }),
  connection_id: maybe(
    Type.String({
      description: "The connection whose secret is sent with every request; or null.",
    }),
  ),
  timeout_ms: Type.Integer({
    description: "The longest that a call may take, in milliseconds; progress does not prolong it.",
  }),
  protocol_version: maybe(
    Type.String({ description: "The protocol's revision that the server speaks; null: unknown." }),
  ),
  title: maybe(Type.String({ description: "The name that the server gives itself; or null." })),
  skipped: Type.Array(SkippedTool, { description: "Tools of the server that are not taken." }),
  problem: maybe(
    Type.String({ description: "Why its tools could not be read last time; null: they were." }),
  ),
  refreshed_at: maybe(Timestamp("When its tools were last read; null: never.")),
  created_at: Timestamp("When it was registered."),
};

export const McpServer = Resource(
  "McpServer",
  fields,
  "A server of the Model Context Protocol, whose tools agents can use.",
);
export type McpServer = Static<typeof McpServer>;

export const McpServerRow = Row(McpServer, {
  account_id: Type.String(),
  /** When its tools are read again. */
  refresh_at: Type.Integer(),
});
export type McpServerRow = Static<typeof McpServerRow>;

export const McpServerList = Resource(
  "McpServerList",
  { data: Type.Array(McpServer, { description: "In the order of their names." }) },
  "The MCP servers of the account.",
);

export const ToolDifference = Type.Object(
  {
    field: oneOf(
      [
        ...["title", "description", "parameters", "annotations", "output_schema"],
        ...["endpoint", "tool", "is_task"],
      ] as const,
      "What differs; `is_task`: it runs as a task only.",
    ),
    before: Type.String({ description: "As it was accepted: a text, or JSON." }),
    after: Type.String({ description: "As it is now: a text, or JSON." }),
  },
  { description: "A difference between two revisions." },
);
export type ToolDifference = Static<typeof ToolDifference>;

export const McpTool = Resource(
  "McpTool",
  {
    name: Type.String({ description: "The tool's name, as agents use it." }),
    tool: McpOrigin.properties.tool,
    revision: Type.Integer({ description: "Its latest revision." }),
    accepted_revision: Type.Integer({
      description: "The last revision that the owner accepted; below `revision`: no call is sent.",
    }),
    risk: oneOf(RISKS, "What a call can do, as the owner says."),
    status: oneOf(["enabled", "disabled"], "`disabled`: switched off, or gone from the server."),
    annotations: McpOrigin.properties.annotations,
    output_schema: McpOrigin.properties.output_schema,
    changes: Type.Array(ToolDifference, {
      description: "What the latest revision changes of the accepted one; none: it is accepted.",
    }),
  },
  "A tool of an MCP server.",
);
export type McpTool = Static<typeof McpTool>;

export const McpToolList = Resource(
  "McpToolList",
  { data: Type.Array(McpTool, { description: "In the order of their names." }) },
  "The tools of an MCP server.",
);
