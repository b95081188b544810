// The tools that a server lists, read into definitions: bounded, named and with usable schemas.
import { isObject, type JsonObject } from "../../../platform/json.ts";
import { shorten } from "../../../platform/text.ts";
import { type CheckSchema, findJsonProblem } from "../json-schema/check.ts";
import { isToolName } from "../revision.ts";
import { rewriteSchema } from "./draft7.ts";
import type { SkippedTool } from "./origin.ts";

export const TOOLS_MAX = 100;
const DESCRIPTION_CHARACTERS_MAX = 4_096;
const TITLE_CHARACTERS_MAX = 256;
const REMOTE_NAME = /^[A-Za-z0-9_./-]{1,128}$/;
const ANNOTATIONS_BYTES_MAX = 2_048;
const ANNOTATIONS_BOUNDS = { depthMax: 3, partsMax: 30 };
const PROBLEM_CHARACTERS_MAX = 300;

export interface McpDefinition {
  name: string;
  title: string | null;
  description: string;
  parameters: JsonObject;
  tool: string;
  annotations: JsonObject;
  output_schema: JsonObject | null;
  /** The tool runs as a task only, in revision 2025-11-25. */
  is_task: boolean;
}

export interface ReadTools {
  definitions: McpDefinition[];
  skipped: SkippedTool[];
}

/** Reads listed tools. A later tool of the same name is skipped, like one that cannot be used. */
export async function readTools(
  listed: readonly unknown[],
  server: string,
  account_id: string,
  checkSchema: CheckSchema,
): Promise<ReadTools> {
  const definitions = new Map<string, McpDefinition>();
  const skipped: SkippedTool[] = [];
  for (const [index, one] of listed.entries()) {
    if (index === TOOLS_MAX) {
      skipped.push({ tool: "", problem: `Only the first ${TOOLS_MAX} tools of a server count.` });
      break;
    }
    const read = readTool(one, server);
    let problem = typeof read === "string" ? read : null;
    if (typeof read !== "string") {
      if (definitions.has(read.name)) problem = `Another tool is \`${read.name}\` here.`;
      problem ??= await checkSchema(read.parameters, account_id, "inputSchema");
      if (problem === null && read.output_schema !== null) {
        problem = await checkSchema(read.output_schema, account_id, "outputSchema");
      }
      if (problem === null) definitions.set(read.name, read);
    }
    if (problem === null) continue;
    const name = isObject(one) && typeof one.name === "string" ? one.name : "";
    skipped.push({ tool: clean(name, 128), problem: clean(problem, PROBLEM_CHARACTERS_MAX) });
  }
  return { definitions: [...definitions.values()], skipped };
}

/** A definition, or the sentence why it cannot be one. */
function readTool(listed: unknown, server: string): McpDefinition | string {
  if (!isObject(listed) || typeof listed.name !== "string") return "It has no name.";
  const tool: string = listed.name;
  const { inputSchema, outputSchema, annotations, execution } = listed;
  if (!REMOTE_NAME.test(tool)) return "Its name has characters that no name may have.";
  const name = `${server}_${tool.toLowerCase().replaceAll(/[^a-z0-9_]/g, "_")}`;
  if (!isToolName(name)) return `Its name here would be longer than 64 characters: ${name}.`;
  if (!isObject(inputSchema)) return "It has no schema of its arguments.";
  const hints = isObject(annotations) ? annotations : {};
  const text = typeof listed.description === "string" ? clean(listed.description) : "";
  const given = listed.title ?? hints.title;
  return {
    name,
    title: typeof given === "string" && given !== "" ? clean(given, TITLE_CHARACTERS_MAX) : null,
    description: text === "" ? `The tool ${tool} of the MCP server ${server}.` : text,
    parameters: rewriteSchema(inputSchema),
    tool,
    annotations: boundAnnotations(hints),
    output_schema: isObject(outputSchema) ? rewriteSchema(outputSchema) : null,
    is_task: isObject(execution) && execution.taskSupport === "required",
  };
}

/** Hints that are too large are left out, since they decide nothing. */
function boundAnnotations(annotations: JsonObject): JsonObject {
  const problem = findJsonProblem(annotations, ANNOTATIONS_BOUNDS);
  const isLong = problem === null && JSON.stringify(annotations).length > ANNOTATIONS_BYTES_MAX;
  return problem === null && !isLong ? annotations : {};
}

function clean(text: string, charactersMax = DESCRIPTION_CHARACTERS_MAX): string {
  return shorten(text.replaceAll("\0", "\ufffd"), charactersMax - 1);
}
