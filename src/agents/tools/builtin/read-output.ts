// The tool `read_output`: reads a part of an earlier result that was shortened or cleared.
import { type Static, Type } from "@sinclair/typebox";
import { type BuiltinTool, failure, success } from "../contract.ts";

const CALL_ID_CHARACTERS_MAX = 128;
const LIMIT_MAX = 16_000;
const TIMEOUT_MS = 5_000;

const Parameters = Type.Object(
  {
    tool_call_id: Type.String({
      minLength: 1,
      maxLength: CALL_ID_CHARACTERS_MAX,
      description: "The id of an earlier tool call of this run.",
    }),
    offset: Type.Optional(
      Type.Integer({
        minimum: 0,
        default: 0,
        description: "How many characters to skip; omitted: 0.",
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMIT_MAX,
        default: LIMIT_MAX,
        description: "The most characters to read, 1 to 16,000; omitted: 16,000.",
      }),
    ),
  },
  { additionalProperties: false },
);

export const readOutput: BuiltinTool = {
  name: "read_output",
  description:
    "Reads a part of the whole result of an earlier tool call of this run: one that was cut, or " +
    "cleared to save room. Tells how long the whole is.",
  risk: "read",
  revision: 1,
  external_content: false,
  parameters: Parameters,
  timeout_ms: TIMEOUT_MS,
  isFree: true,
  async run(use) {
    const {
      tool_call_id,
      offset = 0,
      limit = LIMIT_MAX,
    } = use.arguments as Static<typeof Parameters>;
    const whole = await use.readOutput(tool_call_id);
    if (!whole) return failure("This run has no stored result of a tool call with that id.");
    return success(writeSlice(whole.content, offset, limit), whole.external);
  },
};

/** Offsets count code points, as the mark of a shortened result does. */
function writeSlice(whole: string, offset: number, limit: number): string {
  let count = 0;
  let start = whole.length;
  let end = whole.length;
  for (let at = 0; at < whole.length; count++) {
    if (count === offset) start = at;
    if (count === offset + limit) end = at;
    at += whole.codePointAt(at)! > 0xffff ? 2 : 1;
  }
  if (offset >= count) return `Nothing is left there: the result has ${count} characters.`;
  const last = Math.min(offset + limit, count);
  return `Characters ${offset} to ${last} of ${count}:\n${whole.slice(start, end)}`;
}
