// The operation that finds objects of all kinds.
import { Type } from "@sinclair/typebox";
import { defineOperation } from "../operation.ts";
import { FoundObject } from "../search.ts";
import { input, text } from "./fields.ts";

const CHARACTERS_MAX = 256;

export const searchOperations = {
  find: defineOperation({
    name: "find",
    method: "GET",
    path: "/find",
    summary: "Find objects by a part of their name, or by the end or begin of their id.",
    input: input({
      text: text("Part of a name, or 6 or more first or last characters of an id.", CHARACTERS_MAX),
    }),
    reply: Type.Array(FoundObject, {
      description: "Five of each kind at most, the newest first, of the 10,000 newest.",
    }),
    run: ({ search }, asked) => search(asked.text),
  }),
};
