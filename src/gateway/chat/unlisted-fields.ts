// Unlisted fields of other chat interfaces: `response_format`, and the header that names the rest.
import { Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import type { ModelRequest, ResponseFormat } from "../../models/index.ts";
import type { ChatRequest } from "./request.ts";

const Sent = Type.Union([
  Type.Object({ type: Type.Union([Type.Literal("text"), Type.Literal("json_object")]) }),
  Type.Object({
    type: Type.Literal("json_schema"),
    json_schema: Type.Object({
      name: Type.String({ pattern: "^[A-Za-z0-9_-]{1,64}$" }),
      schema: Type.Object({}),
      strict: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
    }),
  }),
]);
/** Compiled at the first use, since few models take it. */
let compiled: ReturnType<typeof TypeCompiler.Compile<typeof Sent>> | undefined;

/** gateway.endpoints.chat_completions.3: an unlisted field is never an error. */
export function readResponseFormat(sent: unknown): ResponseFormat | null {
  compiled ??= TypeCompiler.Compile(Sent);
  if (!compiled.Check(sent)) return null;
  if (sent.type !== "json_schema") return { type: sent.type };
  const { name, schema, strict } = sent.json_schema;
  const json_schema = strict === true ? { name, schema, strict } : { name, schema };
  return { type: "json_schema", json_schema };
}

const IGNORED: Readonly<Record<string, (value: unknown) => boolean>> = {
  response_format: (value) => (value as { type?: unknown }).type !== "text",
  n: (value) => value !== 1,
  max_completion_tokens: () => true,
};

/** gateway.endpoints.chat_completions.3: a header names the ignored fields. */
export function writeIgnored(body: ChatRequest, request: ModelRequest): Record<string, string> {
  const names = Object.keys(IGNORED).filter((name) => {
    const value: unknown = Reflect.get(body, name);
    if (value === undefined || value === null || !IGNORED[name]!(value)) return false;
    return name !== "response_format" || request.response_format === null;
  });
  return names.length === 0 ? {} : { "x-wadi-ignored": names.join(", ") };
}
