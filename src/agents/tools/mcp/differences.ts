// Tools of MCP servers as their owner judges them: with what changed since they were accepted.
import { writeCanonical } from "../../../platform/json.ts";
import { shorten } from "../../../platform/text.ts";
import type { ListedRow } from "../http/store/listed.ts";
import type { ToolRevisionRow } from "../revision.ts";
import type { McpTool, ToolDifference } from "./server.ts";

export function describeTools({
  latest,
  accepted,
}: {
  latest: readonly ListedRow[];
  accepted: readonly ToolRevisionRow[];
}): McpTool[] {
  const before = new Map(accepted.map((row) => [row.name, row]));
  return latest.map((row) => describeTool(row, before.get(row.name)));
}

function describeTool(row: ListedRow, accepted: ToolRevisionRow | undefined): McpTool {
  const { name, revision, risk, status, mcp } = row;
  const { tool, annotations, output_schema } = mcp!;
  const changes = accepted ? listDifferences(accepted, row) : [];
  return {
    ...{ name, tool, revision, accepted_revision: row.accepted, risk, status },
    ...{ annotations, output_schema, changes },
  };
}

/** Maximum characters of each side of a difference. */
const SIDE_CHARACTERS_MAX = 40_000;

function listDifferences(before: ToolRevisionRow, after: ToolRevisionRow): ToolDifference[] {
  const write = (value: unknown) =>
    shorten(typeof value === "string" ? value : writeCanonical(value), SIDE_CHARACTERS_MAX);
  const select = ({ title, description, parameters, endpoint, mcp }: ToolRevisionRow) => ({
    ...{ title, description, parameters, endpoint },
    ...{ tool: mcp!.tool, annotations: mcp!.annotations, output_schema: mcp!.output_schema },
    is_task: mcp!.is_task === true,
  });
  const [one, other] = [select(before), select(after)];
  return (Object.keys(one) as (keyof typeof one)[]).flatMap((field) => {
    const sides = { before: write(one[field]), after: write(other[field]) };
    return sides.before === sides.after ? [] : [{ field, ...sides }];
  });
}
