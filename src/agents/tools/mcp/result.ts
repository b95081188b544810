// Results of tools of MCP servers, as text for the model.
import type { Compute } from "../../../compute/index.ts";
import { isObject, type JsonObject } from "../../../platform/json.ts";
import { shorten } from "../../../platform/text.ts";
import { ARGUMENTS, UNCOMPUTED } from "../compute-tasks.ts";
import { findJsonProblem } from "../json-schema/check.ts";

/** Maximum parts of a result that are shown; the rest is counted. */
const PARTS_MAX = 100;
const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]{1,64}\/[a-z0-9!#$&^_.+-]{1,64}$/i;
const DATA_BOUNDS = { depthMax: 64, partsMax: 20_000 };
const FAULTS_MAX = 5;

/** Texts as they are; images, sounds and bytes by their type and size. */
export function writeContent({ content, structuredContent }: JsonObject): string {
  const parts = Array.isArray(content) ? content : [];
  const texts = parts.slice(0, PARTS_MAX).map(writePart);
  if (parts.length > PARTS_MAX) texts.push(`[${parts.length - PARTS_MAX} more parts, not shown]`);
  const isShown = parts.some((part) => isObject(part) && part.type === "text");
  if (structuredContent !== undefined && !isShown) texts.push(JSON.stringify(structuredContent));
  return texts.join("\n\n");
}

function writePart(part: unknown): string {
  if (!isObject(part)) return "[a part of unknown form, not shown]";
  const { type, text, data, mimeType, resource, uri, name } = part;
  switch (type) {
    case "text":
      return typeof text === "string" ? text : "";
    case "image":
    case "audio":
      return describeBytes(type, mimeType, data);
    case "resource_link":
      return `[resource ${writeName(name)} at ${writeName(uri)}]`;
    case "resource": {
      if (!isObject(resource)) return "[a resource, not shown]";
      const at = `resource ${writeName(resource.uri)}`;
      if (typeof resource.text === "string") return `[${at}]\n${resource.text}`;
      return describeBytes(at, resource.mimeType, resource.blob);
    }
    default:
      return "[a part of unknown form, not shown]";
  }
}

function describeBytes(what: string, mimeType: unknown, base64: unknown): string {
  const isType = typeof mimeType === "string" && MEDIA_TYPE.test(mimeType);
  const length = typeof base64 === "string" ? Buffer.byteLength(base64, "base64") : 0;
  const size = `${length} ${length === 1 ? "byte" : "bytes"}`;
  return `[${what}${isType ? ` of ${mimeType}` : ""}, ${size}, not shown]`;
}

function writeName(text: unknown): string {
  return typeof text === "string" ? text : "without a name";
}

/** Why a structured result does not fit the tool's schema; null: it fits, or there is none. */
export async function findOutputProblem(
  { structuredContent }: JsonObject,
  output_schema: JsonObject | null,
  account: string,
  { compute, signal }: { compute: Compute; signal: AbortSignal },
): Promise<string | null> {
  if (structuredContent !== undefined) {
    const problem = findJsonProblem(structuredContent, DATA_BOUNDS);
    if (problem !== null) return `it ${problem}`;
  }
  if (output_schema === null) return null;
  if (structuredContent === undefined) return "it has no structured content";
  const text = JSON.stringify(structuredContent);
  const input = { parameters: output_schema, text, faultsMax: FAULTS_MAX, root: "The result" };
  const computed = await compute.run(ARGUMENTS, input, { account, signal });
  if (!computed.ok) return `checking it ${UNCOMPUTED[computed.reason]}`;
  return computed.value.length === 0 ? null : shorten(computed.value.join(" "), 1_000);
}
