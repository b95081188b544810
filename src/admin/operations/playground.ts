// The operation of the playground.
import { Type } from "@sinclair/typebox";
import { ChatChunk, ChatReply } from "../../gateway/index.ts";
import { defineOperation } from "../operation.ts";
import { idOf, input } from "./fields.ts";
import { keyAudit } from "./keys.ts";

export const playgroundOperations = {
  chat: defineOperation({
    name: "keys chat",
    method: "POST",
    path: "/playground/chat",
    summary: "Chat as a key, with all its permissions, limits and budgets.",
    input: input({
      key: idOf("key"),
      request: Type.Unsafe<Record<string, unknown>>(
        Type.Object(
          {},
          {
            description:
              "The body of `POST /v1/chat/completions`. With `stream` true the reply is its " +
              "stream; refusals are those of that route.",
          },
        ),
      ),
    }),
    reply: ChatReply,
    stream: ChatChunk,
    audit: { ...keyAudit, target: (asked: { key: string }) => asked.key },
    run: ({ playground }, { key, request: body }, actor, from) =>
      playground.chat({ key, body }, actor, from),
  }),
};
