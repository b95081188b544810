// The origin of a tool of an MCP server, as its revisions keep it.
import { type Static, Type } from "@sinclair/typebox";
import { maybe } from "../../../platform/schema.ts";

/** Kept with each revision of such a tool. */
export const McpOrigin = Type.Object({
  server_id: Type.String({ description: "The server." }),
  tool: Type.String({ description: "The tool's name on its server." }),
  annotations: Type.Unsafe<Record<string, unknown>>(
    Type.Object({}, { description: "What the server claims of the tool; never believed." }),
  ),
  output_schema: maybe(
    Type.Unsafe<Record<string, unknown>>(
      Type.Object({}, { description: "JSON Schema of structured results; null: it has none." }),
    ),
  ),
  is_task: Type.Optional(
    Type.Literal(true, { description: "It runs as a task only, in revision 2025-11-25." }),
  ),
});
export type McpOrigin = Static<typeof McpOrigin>;

/** A tool that is not taken, and why. */
export const SkippedTool = Type.Object(
  {
    tool: Type.String({ description: "The tool's name on its server, shortened." }),
    problem: Type.String({ description: "Why no agent can use it." }),
  },
  { description: "A tool of the server that is not taken." },
);
export type SkippedTool = Static<typeof SkippedTool>;
