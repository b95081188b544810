// Measures of how a round was executed, which its step keeps for operators.
import type { InternalCompletion } from "../../gateway/index.ts";
import type { ModelMessage } from "../../models/index.ts";
import type { Prompt } from "./prompt.ts";
import type { RunState } from "./state.ts";
import type { StepExecution } from "./step.ts";

/** A reply, when the model was asked for it, and by which request; null: it is from a record. */
export interface ModelReply {
  reply: InternalCompletion;
  askedAt: number;
  request_id: string | null;
}

export function measureReply({ reply, askedAt, request_id }: ModelReply): StepExecution {
  const { waited_ms, first_token_ms, replica, attempts } = reply.timing ?? {};
  return {
    started_at: askedAt,
    ended_at: askedAt + reply.duration_ms,
    ...(request_id !== null && { request_id }),
    ...(waited_ms != null && { waited_ms }),
    ...(first_token_ms != null && { first_token_ms }),
    ...(replica != null && { replica }),
    ...(attempts != null && { attempts }),
  };
}

type SentPrompt = NonNullable<StepExecution["prompt"]>;

export function measurePrompt(
  { fence, row, summarisedTo }: RunState,
  { request, toolsOff }: Pick<Prompt, "request" | "toolsOff">,
): SentPrompt {
  return {
    ...measureMessages(request.messages),
    nonce: fence.nonce,
    has_external: row.external_content,
    summarised_to: summarisedTo,
    ...(toolsOff.length > 0 && { tools_off: toolsOff }),
  };
}

/** Counts messages and their characters, with those of calls. */
export function measureMessages(
  messages: readonly ModelMessage[],
): Pick<SentPrompt, "messages" | "characters"> {
  let characters = 0;
  for (const { content, tool_calls = [] } of messages) {
    characters += readContent(content).length;
    for (const { function: called } of tool_calls) {
      characters += called.name.length + called.arguments.length;
    }
  }
  return { messages: messages.length, characters };
}

/** The text of a message's content, with a text in place of each image. */
export function readContent(content: ModelMessage["content"], image = ""): string {
  if (!Array.isArray(content)) return content ?? "";
  return content.map((part) => (part.type === "text" ? part.text : image)).join("\n");
}
