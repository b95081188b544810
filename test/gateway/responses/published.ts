// The schemas of Open Responses (2026-04-24) for a response and the events of its stream, as far
// as they bind a server without storage: https://www.openresponses.org/reference
import { type TProperties, type TSchema, Type } from "@sinclair/typebox";

const text = Type.String();
const count = Type.Integer({ minimum: 0 });
const orNull = (schema: TSchema) => Type.Union([schema, Type.Null()]);
const word = (...words: string[]) => Type.Union(words.map((one) => Type.Literal(one)));
const status = word("in_progress", "completed", "incomplete");

const Part = Type.Object({
  type: word("output_text"),
  text,
  annotations: Type.Array(Type.Object({})),
  logprobs: Type.Optional(Type.Array(Type.Object({}))),
});
const Item = Type.Union([
  Type.Object({
    type: word("message"),
    id: Type.String({ minLength: 1 }),
    status,
    role: word("assistant"),
    content: Type.Array(Part),
  }),
  Type.Object({
    type: word("function_call"),
    id: Type.String({ minLength: 1 }),
    call_id: Type.String({ minLength: 1, maxLength: 64 }),
    name: Type.String({ minLength: 1 }),
    arguments: text,
    status,
  }),
]);
const ChosenFunction = Type.Object({ type: word("function"), name: text });
const CHOICES = word("none", "auto", "required");

export const PublishedResponse = Type.Object({
  id: text,
  object: word("response"),
  created_at: count,
  completed_at: orNull(count),
  status: text,
  incomplete_details: orNull(Type.Object({ reason: text })),
  model: text,
  previous_response_id: orNull(text),
  instructions: orNull(text),
  output: Type.Array(Item),
  error: orNull(Type.Object({ code: text, message: text })),
  tools: Type.Array(
    Type.Object({
      type: word("function"),
      name: text,
      description: orNull(text),
      parameters: orNull(Type.Object({})),
      strict: orNull(Type.Boolean()),
    }),
  ),
  tool_choice: Type.Union([
    CHOICES,
    ChosenFunction,
    Type.Object({
      type: word("allowed_tools"),
      tools: Type.Array(ChosenFunction),
      mode: CHOICES,
    }),
  ]),
  truncation: word("auto", "disabled"),
  parallel_tool_calls: Type.Boolean(),
  text: Type.Object({
    format: Type.Object({ type: word("text", "json_object", "json_schema") }),
  }),
  top_p: Type.Number(),
  presence_penalty: Type.Number(),
  frequency_penalty: Type.Number(),
  top_logprobs: count,
  temperature: Type.Number(),
  reasoning: orNull(Type.Object({ effort: orNull(text), summary: orNull(text) })),
  usage: orNull(
    Type.Object({
      input_tokens: count,
      output_tokens: count,
      total_tokens: count,
      input_tokens_details: Type.Object({ cached_tokens: count }),
      output_tokens_details: Type.Object({ reasoning_tokens: count }),
    }),
  ),
  max_output_tokens: orNull(count),
  max_tool_calls: orNull(count),
  store: Type.Boolean(),
  background: Type.Boolean(),
  service_tier: text,
  metadata: Type.Object({}),
  safety_identifier: orNull(text),
  prompt_cache_key: orNull(text),
});

const place = { item_id: text, output_index: count };
const inPart = { ...place, content_index: count };
const FIELDS: Readonly<Record<string, TProperties>> = {
  "response.created": { response: PublishedResponse },
  "response.in_progress": { response: PublishedResponse },
  "response.completed": { response: PublishedResponse },
  "response.incomplete": { response: PublishedResponse },
  "response.failed": { response: PublishedResponse },
  "response.output_item.added": { output_index: count, item: Item },
  "response.output_item.done": { output_index: count, item: Item },
  "response.content_part.added": { ...inPart, part: Part },
  "response.content_part.done": { ...inPart, part: Part },
  "response.output_text.delta": { ...inPart, delta: text },
  "response.output_text.done": { ...inPart, text },
  "response.function_call_arguments.delta": { ...place, delta: text },
  "response.function_call_arguments.done": { ...place, arguments: text },
  error: {
    error: Type.Object({ type: text, code: orNull(text), message: text, param: orNull(text) }),
  },
};

export const PUBLISHED_EVENTS: Readonly<Record<string, TSchema>> = Object.fromEntries(
  Object.entries(FIELDS).map(([type, fields]) => [
    type,
    Type.Object({ type: word(type), sequence_number: count, ...fields }),
  ]),
);
