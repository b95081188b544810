// POST /v1/chat/completions.
import type { Router } from "../../http/index.ts";
import { addHeaders, createAdmit } from "./admit.ts";
import { createChatWriter, createChunkWriter } from "./chunks.ts";
import type { ChatExecution, WholeReply } from "./execution.ts";
import { ChatChunk, ChatReply, writeChatReply } from "./reply.ts";
import { ChatRequest } from "./request.ts";
import { createResponder } from "./response.ts";
import { CHAT_PATH, CHAT_REPLY_HEADERS, CHAT_SPEC, type ChatOptions } from "./route-spec.ts";

/** gateway.does.1: one JSON reply, or gateway.events.p1: the one channel of events. */
export function openChatRoutes(
  router: Router,
  execution: ChatExecution,
  options: ChatOptions,
): void {
  const admit = createAdmit(execution, options);
  const responder = createResponder(execution, options);
  /** gateway.resources.reply.p2: the model is always the alias. */
  const identify = () => {
    const created = Math.floor(options.clock.now() / 1000);
    return { id: `chatcmpl-${options.ids.token(24)}`, created, model: options.alias };
  };
  router.post(
    CHAT_PATH,
    {
      ...CHAT_SPEC,
      summary: "Answer a conversation",
      description: "One JSON reply, or server-sent events when `stream` is true.",
      body: ChatRequest,
      meter: options.meter,
      replies: {
        [options.status]: {
          description:
            "The reply, or the stream of its chunks: 201, or 200 where the operator has set " +
            "`service.chat_status` so. Any 2xx is success.",
          schema: ChatReply,
          stream: ChatChunk,
          headers: CHAT_REPLY_HEADERS,
        },
      },
    },
    async ({ body, caller, request, requestId, recorder }) => {
      recorder.is_stream = body.stream === true;
      const { trace } = recorder;
      const admitted = await admit(body, { caller, request_id: requestId, trace, recorder });
      try {
        // gateway.endpoints.chat_completions.stream
        if (!body.stream) {
          const write = (reply: WholeReply) => writeChatReply(identify(), reply.message, reply);
          return await responder.json(admitted, request.signal, write);
        }
        const { id, created, model } = identify();
        const hasUsage = body.stream_options?.include_usage === true;
        const writer = createChatWriter(createChunkWriter(id, created, model), hasUsage);
        return await responder.stream(admitted, request.signal, writer);
      } catch (error) {
        throw addHeaders(error, admitted.headers);
      }
    },
  );
}
