// The schemas of a response and of what stands in it.
import { type Static, type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { always, maybe, oneOf } from "../../platform/schema.ts";

const text = (description: string) => Type.String({ description });
const count = (description: string) => Type.Integer({ minimum: 0, description });
const number = (description: string) => Type.Number({ description });
const never = (description: string) => Type.Null({ description: `Always null: ${description}` });
const given = (description: string) => `${description} as it was sent.`;
const givenOrNone = (description: string) => `${given(description)} Null: none.`;

const ItemStatus = oneOf(
  ["in_progress", "completed", "incomplete"],
  "`incomplete`: the token budget ended it, and nothing follows.",
);

export const OutputText = Type.Object(
  {
    type: always("output_text"),
    text: text("The text."),
    annotations: Type.Array(Type.Object({}), { description: "Always empty." }),
    logprobs: Type.Array(Type.Object({}), { description: "Always empty." }),
  },
  { $id: "ResponsesOutputText", description: "A text that the model wrote." },
);
export type OutputText = Static<typeof OutputText>;

const OutputMessage = Type.Object(
  {
    type: always("message"),
    id: text("Identifier of the item. Nothing is kept under it."),
    status: ItemStatus,
    role: always("assistant"),
    content: Type.Array(OutputText, { description: "One part; none before its first event." }),
  },
  { $id: "ResponsesOutputMessage", description: "What the model says." },
);
const OutputCall = Type.Object(
  {
    type: always("function_call"),
    id: text("Identifier of the item. Nothing is kept under it."),
    call_id: text("The `function_call_output` that answers it names this id."),
    name: text("The function that is called."),
    arguments: text("JSON text, as the model wrote it; cut if `incomplete`."),
    status: ItemStatus,
  },
  { $id: "ResponsesOutputCall", description: "A call to answer." },
);
export const OutputItem = Type.Unsafe<OutputMessage | OutputCall>(
  Type.Union([OutputMessage, OutputCall], {
    $id: "ResponsesOutputItem",
    discriminator: "type",
    description: "A message or a call.",
  }),
);
export type OutputMessage = Static<typeof OutputMessage>;
export type OutputCall = Static<typeof OutputCall>;
export type OutputItem = OutputMessage | OutputCall;

const Usage = Type.Object(
  {
    input_tokens: count("Tokens of the items and tools."),
    input_tokens_details: Type.Object(
      {
        cached_tokens: count("Always 0."),
        cache_write_tokens: count("Always 0."),
      },
      { description: "Of them." },
    ),
    output_tokens: count("Tokens of the response, its reasoning included."),
    output_tokens_details: Type.Object(
      { reasoning_tokens: count("Always 0: they are not counted apart.") },
      { description: "Of them." },
    ),
    total_tokens: count("Both together."),
  },
  { $id: "ResponsesUsage", description: "What was used, in tokens. Null: not ended, or failed." },
);

const Failure = Type.Object(
  { code: text("The code of an error."), message: text("A sentence for people.") },
  { $id: "ResponsesFailure", description: "Why it failed. Null: it did not." },
);

const Tool = Type.Object(
  {
    type: always("function"),
    name: text("Its name."),
    description: maybe(text(givenOrNone("The description"))),
    parameters: maybe(Type.Object({}, { description: givenOrNone("The JSON Schema") })),
    strict: maybe(Type.Boolean({ description: givenOrNone("The flag") })),
  },
  { $id: "ResponsesTool", description: "A function that the model might call." },
);

const TextOptions = Type.Object(
  {
    format: Type.Object(
      { type: text("`text`, `json_object` or `json_schema`.") },
      {
        description: given("The form"),
      },
    ),
  },
  { description: "The form of the text." },
);

const Reasoning = Type.Object(
  {
    effort: maybe(text(givenOrNone("The effort"))),
    summary: never("reasoning is not given back."),
  },
  { description: givenOrNone("What was asked of reasoning") },
);

export const ResponseObject = Type.Object(
  {
    id: text("Identifier of the response. Nothing is kept under it."),
    object: always("response"),
    created_at: count("Unix seconds of the request."),
    completed_at: maybe(count("Unix seconds of the end. Null: not `completed`.")),
    status: oneOf(
      ["in_progress", "completed", "incomplete", "failed"],
      "`incomplete`: see `incomplete_details`.",
    ),
    error: maybe(Failure),
    incomplete_details: maybe(
      Type.Object(
        { reason: text("`max_output_tokens`: the budget is used up; or `content_filter`.") },
        { description: "Why the response ends early. Null: it does not." },
      ),
    ),
    model: text("Always the alias, whatever was requested."),
    output: Type.Array(OutputItem, { description: "What the model says, then its calls." }),
    usage: maybe(Usage),
    instructions: maybe(text(givenOrNone("The text"))),
    tools: Type.Array(Tool, { description: given("The list") }),
    tool_choice: Type.Unknown({ description: given("The choice") }),
    parallel_tool_calls: Type.Boolean({ description: "false: at most one call." }),
    temperature: number("As it was sent; 1: nothing was."),
    top_p: number("As it was sent; 1: nothing was."),
    presence_penalty: number("As it was sent; 0: nothing was."),
    frequency_penalty: number("As it was sent; 0: nothing was."),
    max_output_tokens: maybe(count("As it was sent, also if it was lowered. Null: nothing was.")),
    text: TextOptions,
    reasoning: maybe(Reasoning),
    metadata: Type.Object({}, { description: given("The object") }),
    safety_identifier: maybe(text(givenOrNone("The text"))),
    prompt_cache_key: maybe(text(givenOrNone("The text"))),
    store: Type.Literal(false, { description: "Always false: nothing is kept." }),
    background: Type.Literal(false, { description: "Always false." }),
    truncation: always("disabled"),
    service_tier: always("default"),
    top_logprobs: count("Always 0."),
    max_tool_calls: never("no tools are hosted."),
    previous_response_id: never("no response is kept."),
  },
  { $id: "Response", description: "What the model makes of the items." },
);
export type ResponseObject = Static<typeof ResponseObject>;

const EVENT = {
  item_id: text("The item."),
  output_index: count("Its place in `output`."),
  content_index: Type.Literal(0, { description: "Always 0." }),
};
const { item_id, output_index, content_index } = EVENT;
const part = { item_id, output_index, content_index };

function event<const T extends string, P extends TProperties>(
  type: T,
  name: string,
  description: string,
  fields: P,
) {
  const sequence_number = count("0 for the first event, then one more each.");
  const own = { type: always(type), sequence_number, ...fields };
  return Type.Object(own, { $id: `ResponsesEvent${name}`, description });
}

const whole = <const T extends string>(type: T, name: string, description: string) =>
  event(type, name, description, { response: ResponseObject });
const changed = (type: "added" | "done", name: string, description: string, schema: TSchema) =>
  event(`response.output_item.${type}`, name, description, { output_index, item: schema });

const EVENTS: TObject[] = [
  whole("response.created", "Created", "First."),
  whole("response.in_progress", "InProgress", "Second."),
  changed("added", "ItemAdded", "An item begins.", OutputItem),
  event("response.content_part.added", "PartAdded", "The text of a message begins.", {
    ...part,
    part: OutputText,
  }),
  event("response.output_text.delta", "TextDelta", "More text.", {
    ...part,
    delta: text("The next piece."),
    logprobs: Type.Array(Type.Object({}), { description: "Always empty." }),
  }),
  event("response.output_text.done", "TextDone", "A text is whole.", {
    ...part,
    text: text("The whole text."),
    logprobs: Type.Array(Type.Object({}), { description: "Always empty." }),
  }),
  event("response.content_part.done", "PartDone", "The text of a message is whole.", {
    ...part,
    part: OutputText,
  }),
  event("response.function_call_arguments.delta", "ArgumentsDelta", "More of a call.", {
    item_id,
    output_index,
    delta: text("The next piece of the JSON text."),
  }),
  event("response.function_call_arguments.done", "ArgumentsDone", "A call is whole.", {
    item_id,
    output_index,
    name: text("The function that is called."),
    arguments: text("The whole JSON text."),
  }),
  changed("done", "ItemDone", "An item is whole.", OutputItem),
  event("error", "Error", "Something went wrong; `response.failed` follows.", {
    code: text("What went wrong."),
    message: text("A sentence for people."),
    param: maybe(text("The field at fault. Null: none.")),
    error: Type.Object(
      {
        type: text("The kind of error."),
        code: text("What went wrong."),
        message: text("A sentence for people."),
        param: maybe(text("The field at fault. Null: none.")),
      },
      { description: "The same." },
    ),
  }),
  whole("response.completed", "Completed", "Last: the model has ended."),
  whole("response.incomplete", "Incomplete", "Last: the response ends early."),
  whole("response.failed", "Failed", "Last: it has failed."),
];

export const ResponseEvent = Type.Union(EVENTS, {
  $id: "ResponsesEvent",
  discriminator: "type",
  description: "One frame of the stream; `data: [DONE]` follows the last.",
});
