// POST /v1/responses: Open Responses over the pipeline of a chat, without what needs storage.
import type { Router } from "../../http/index.ts";
import {
  type AdmittedChat,
  addHeaders,
  createAdmit,
  renameParam,
  requireFormat,
} from "../chat/admit.ts";
import type { ChatExecution, WholeReply } from "../chat/execution.ts";
import { firstCallOnly } from "../chat/first-call.ts";
import { createResponder } from "../chat/response.ts";
import {
  CHAT_PATH,
  CHAT_REPLY_HEADERS,
  CHAT_SPEC,
  type DialectOptions,
} from "../chat/route-spec.ts";
import { beginResponse, endResponse, listItems } from "./output.ts";
import { ResponsesRequest } from "./request.ts";
import { ResponseEvent, ResponseObject } from "./resource.ts";
import { ResponseWriter } from "./stream.ts";
import { translateParam, translateRequest } from "./translate.ts";

const STATUS = 200;

export function openResponsesRoute(
  router: Router,
  execution: ChatExecution,
  options: DialectOptions,
): void {
  const { alias, clock, ids, isOpen, meter } = options;
  const admit = createAdmit(execution, options);
  const responder = createResponder(execution, { ...options, dialect: "openai", status: STATUS });
  const begin = (body: ResponsesRequest) => {
    const created_at = Math.floor(clock.now() / 1000);
    return beginResponse(body, { id: `resp_${ids.token(24)}`, created_at, model: alias });
  };
  router.post(
    "/v1/responses",
    {
      ...CHAT_SPEC,
      summary: "Answer items, without storing them",
      description:
        "A chat in the format of Open Responses: one JSON response, or server-sent events when " +
        "`stream` is true. 404 unless the operator has set `gateway.responses`. Requests count " +
        "on the limit of chats.",
      ...{ dialect: "openai", isOpen, countsAs: `POST ${CHAT_PATH}`, meter },
      body: ResponsesRequest,
      refusals: [...CHAT_SPEC.refusals, "not_found"],
      replies: {
        [STATUS]: {
          description: "The response, or the stream of its events.",
          schema: ResponseObject,
          stream: ResponseEvent,
          headers: CHAT_REPLY_HEADERS,
        },
      },
    },
    async ({ body, caller, request, requestId, recorder }) => {
      recorder.is_stream = body.stream === true;
      const { trace } = recorder;
      const { body: chat, places } = translateRequest(body);
      const toSentParam = (param: string) => translateParam(param, places);
      let headers: Record<string, string> = {};
      try {
        const context = { caller, request_id: requestId, trace, recorder };
        const admitted = limitCalls(body, await admit(chat, context));
        headers = admitted.headers;
        if ((body.text?.format?.type ?? "text") !== "text") requireFormat(admitted, "text.format");
        const begun = begin(body);
        if (body.stream) {
          const writer = new ResponseWriter(begun, { clock, ids, toSentParam });
          return await responder.stream(admitted, request.signal, writer);
        }
        const write = (reply: WholeReply) =>
          endResponse(begun, listItems(reply.message, reply, ids), reply, clock.now());
        return await responder.json(admitted, request.signal, write);
      } catch (error) {
        throw renameParam(addHeaders(error, headers), toSentParam);
      }
    },
  );
}

function limitCalls({ parallel_tool_calls }: ResponsesRequest, chat: AdmittedChat): AdmittedChat {
  if (parallel_tool_calls !== false) return chat;
  return { ...chat, complete: firstCallOnly(chat.complete) };
}
