// The unlisted field `response_format`: passed on where it is well formed, else as if not sent.
import { Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import type { ResponseFormat } from "../../models/index.ts";

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
/** Compiled at first need: few models want it. */
let compiled: ReturnType<typeof TypeCompiler.Compile<typeof Sent>> | undefined;

/**
 * gateway.endpoints.chat_completions.3: the interface does not list it, so that no form of it is
 * refused; only models of the capability `structured_outputs` are asked for one.
 */
export function readResponseFormat(sent: unknown): ResponseFormat | null {
  compiled ??= TypeCompiler.Compile(Sent);
  if (!compiled.Check(sent)) return null;
  if (sent.type !== "json_schema") return { type: sent.type };
  const { name, schema, strict } = sent.json_schema;
  const json_schema = strict === true ? { name, schema, strict } : { name, schema };
  return { type: "json_schema", json_schema };
}
