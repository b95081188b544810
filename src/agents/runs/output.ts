// The output of a version with an output schema: how a model is asked for it, and its check.
import type { Compute } from "../../compute/index.ts";
import type { ModelMessage, ResponseFormat } from "../../models/index.ts";
import type { ModelSettings } from "../../settings/index.ts";
import type { VersionRow } from "../definitions/version.ts";
import { type CheckedArguments, createArgumentsCheck } from "../tools/arguments.ts";
import type { RejectedOutput } from "./state.ts";
import type { AssistantData } from "./step.ts";

/** Maximum characters of a rejected answer that the model is shown again. */
const SHOWN_CHARACTERS_MAX = 32_768;
/** A fence of Markdown around the whole text, which many models write all the same. */
const FENCE = /^```(?:json)?[^\S\n]*\n([\s\S]*?)\n?```$/i;

type OutputSchema = VersionRow["output_schema"];

/** Tells if the model's server can enforce the schema; beside tools most would call none. */
export function enforcesSchema(
  schema: OutputSchema,
  model: Pick<ModelSettings, "capabilities"> | undefined,
  hasTools: boolean,
): boolean {
  if (!schema || hasTools) return false;
  return model?.capabilities.includes("structured_outputs") === true;
}

export function makeResponseFormat(schema: OutputSchema): ResponseFormat {
  return { type: "json_schema", json_schema: { name: "output", schema: schema! } };
}

/** Asks in words for an answer that is valid by the schema. */
export function describeSchema(schema: OutputSchema): string {
  return (
    "Your answer, which is your last message and calls no tool, must be one JSON object and " +
    `nothing else. It must be valid by this JSON Schema: ${JSON.stringify(schema)}`
  );
}

/** The messages that ask for an answer again; they are never stored in the thread. */
export function askAgain({ text, faults }: RejectedOutput): ModelMessage[] {
  const content =
    `Your answer could not be used.\n${faults.map((fault) => `- ${fault}`).join("\n")}\n` +
    "Write the whole answer again: one JSON object without these mistakes, and nothing else.";
  // Model servers reject an assistant's message without content.
  const shown = text?.slice(0, SHOWN_CHARACTERS_MAX).toWellFormed();
  const answer: ModelMessage[] = shown ? [{ role: "assistant", content: shown }] : [];
  return [...answer, { role: "user", content }];
}

/** Parses an answer and checks it by the schema, in a compute Worker. */
export async function checkOutput(
  compute: Compute,
  schema: Record<string, unknown>,
  { content, finish_reason }: Pick<AssistantData, "content" | "finish_reason">,
  account: string,
): Promise<CheckedArguments> {
  const text = content?.trim() ?? "";
  if (text === "") return { ok: false, faults: ["The answer has no text."] };
  const check = createArgumentsCheck(compute, "The contents of the answer");
  const checked = await check(schema, FENCE.exec(text)?.[1] ?? text, { account });
  if (checked.ok || finish_reason !== "length") return checked;
  const cut = "The answer was cut off at the longest that a reply may be: write less.";
  return { ok: false, faults: [cut, ...checked.faults] };
}
