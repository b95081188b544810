// POST /v1/messages and /v1/messages/count_tokens, in the format of Anthropic's Messages API.
import type { Caller } from "../../access/index.ts";
import { type Router, toApiError } from "../../http/index.ts";
import type { CountTexts, ModelRegistry } from "../../models/index.ts";
import {
  type AdmittedChat,
  addHeaders,
  createAdmit,
  createFindModel,
  renameParam,
  requireFormat,
} from "../chat/admit.ts";
import { countPrompt, estimatePrompt } from "../chat/budget-check.ts";
import type { ChatExecution, WholeReply } from "../chat/execution.ts";
import { firstCallOnly } from "../chat/first-call.ts";
import { buildModelRequest, readRequestInput } from "../chat/model-request.ts";
import { createResponder } from "../chat/response.ts";
import {
  CHAT_PATH,
  CHAT_REPLY_HEADERS,
  CHAT_SPEC,
  DEPRECATION,
  type DialectOptions,
} from "../chat/route-spec.ts";
import { MessageEvents } from "./events.ts";
import { MessageEvent, MessagesReply, TokenCount, writeMessageReply } from "./reply.ts";
import { CountTokensRequest, MessagesRequest } from "./request.ts";
import { toChatRequest, toPrompt, toSentParam } from "./translate.ts";

const STATUS = 200;

export interface MessagesOptions extends DialectOptions {
  countTexts: CountTexts;
}

export function openMessagesRoutes(
  router: Router,
  execution: ChatExecution,
  options: MessagesOptions,
): void {
  openCreate(router, execution, options);
  openCount(router, options);
}

const SHARED = {
  ...CHAT_SPEC,
  dialect: "anthropic",
  countsAs: `POST ${CHAT_PATH}`,
  /** The headers of chats, under the statuses of this format. */
  refusal_headers: { ...CHAT_SPEC.refusal_headers, 500: DEPRECATION, 529: DEPRECATION },
} as const;

function openCreate(router: Router, execution: ChatExecution, options: MessagesOptions): void {
  const { alias, ids, isOpen, meter, registry } = options;
  const admit = createAdmit(execution, options);
  const responder = createResponder(execution, {
    ...options,
    ...{ dialect: "anthropic", status: STATUS },
  });
  router.post(
    "/v1/messages",
    {
      ...SHARED,
      summary: "Answer a conversation in Anthropic's format",
      description:
        "A chat in the format of Anthropic's Messages API: one JSON message, or server-sent " +
        "events when `stream` is true. The key may also be sent as `x-api-key`. 404 unless the " +
        "operator has set `gateway.messages`. Requests count on the limit of chats.",
      ...{ isOpen, meter },
      body: MessagesRequest,
      replies: {
        [STATUS]: {
          description: "The message, or the stream of its events.",
          schema: MessagesReply,
          stream: MessageEvent,
          headers: CHAT_REPLY_HEADERS,
        },
      },
    },
    async ({ body, caller, request, requestId, recorder }) => {
      recorder.is_stream = body.stream === true;
      const { trace } = recorder;
      const reasons = wantsReasoning(body) && mayReason(registry, body, caller);
      let headers: Record<string, string> = {};
      try {
        const context = { caller, request_id: requestId, trace, recorder };
        const admitted = adapt(body, reasons, await admit(toChatRequest(body, reasons), context));
        headers = admitted.headers;
        const names = { id: `msg_${ids.token(24)}`, model: alias };
        if (body.stream) {
          const events = new MessageEvents(names, estimatePrompt(admitted.request));
          return await responder.stream(admitted, request.signal, events);
        }
        const write = (reply: WholeReply) => writeMessageReply(names, reply.message, reply);
        return await responder.json(admitted, request.signal, write);
      } catch (error) {
        throw renameParam(addHeaders(error, headers), toSentParam);
      }
    },
  );
}

function openCount(router: Router, options: MessagesOptions): void {
  const { countTexts, isOpen } = options;
  const findModel = createFindModel(options);
  router.post(
    "/v1/messages/count_tokens",
    {
      ...SHARED,
      summary: "Count the tokens of a conversation",
      description:
        "Counts what `POST /v1/messages` would send, by the model's own server where that can, " +
        "else by the built-in tokenizer. No model is asked, and nothing is used of a budget. " +
        "Requests count on the limit of chats.",
      isOpen,
      body: CountTokensRequest,
      replies: {
        [STATUS]: { description: "The count.", schema: TokenCount, headers: DEPRECATION },
      },
    },
    async ({ body, caller, request, requestId, trace }) => {
      try {
        const asked = toPrompt(body);
        const recorder = createNoRecorder();
        const { model, headers } = await findModel(asked, caller, recorder);
        const context = { caller, request_id: requestId, trace, recorder };
        const counted = buildModelRequest(readRequestInput(asked, model), model, context);
        const input_tokens = await countPrompt(counted, { model, countTexts }, request.signal);
        return [STATUS, { input_tokens }, headers];
      } catch (error) {
        throw renameParam(toApiError(error), toSentParam);
      }
    },
  );
}

/** A count has no row in the request log, since nothing is used. */
const createNoRecorder = () => {
  return { asked_model: null, scope: null, setModel() {}, setOutputCap() {} };
};

function wantsReasoning({ thinking }: MessagesRequest): boolean {
  return thinking?.type === "enabled";
}

/** Clients ask for thinking by default, so a key or model without it is no error. */
function mayReason(registry: ModelRegistry, { model }: MessagesRequest, caller: Caller): boolean {
  const { settings } = registry.resolve(model).model;
  return caller.scopes.includes("reasoning") && settings.capabilities.includes("reasoning");
}

function adapt(body: MessagesRequest, reasons: boolean, chat: AdmittedChat): AdmittedChat {
  if (body.output_config?.format) requireFormat(chat, "output_config.format");
  const ignored = (Reflect.get(body, "top_k") ?? null) === null ? [] : ["top_k"];
  if (wantsReasoning(body) && !reasons) ignored.push("thinking");
  const told = ignored.length > 0 && { "x-wadi-ignored": ignored.join(", ") };
  const { tool_choice } = body;
  const isSingle = tool_choice && "disable_parallel_tool_use" in tool_choice;
  const complete =
    isSingle && tool_choice.disable_parallel_tool_use === true
      ? firstCallOnly(chat.complete)
      : chat.complete;
  return { ...chat, complete, successHeaders: { ...chat.successHeaders, ...told } };
}
