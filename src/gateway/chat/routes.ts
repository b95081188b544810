// POST /v1/chat/completions.
import type { RecorderFactory, Router } from "../../http/index.ts";
import { LIMIT_ERROR_HEADERS, LIMIT_HEADERS } from "../budgets/headers.ts";
import type { GatewayRecorder } from "../request-log/recorder.ts";
import { type AdmitOptions, addHeaders, createAdmit } from "./admit.ts";
import type { ChatExecution } from "./execution.ts";
import { ChatChunk, ChatReply } from "./reply.ts";
import { ChatRequest } from "./request.ts";
import { type ChatResponderOptions, createResponder } from "./response.ts";

/** gateway.endpoints.chat_completions.5 */
const BODY_BYTES_MAX = 256 * 1024;
/** gateway.errors.headers.deprecation, for the API document. */
const DEPRECATION = ["deprecation", "link", "sunset"] as const;
const MARKED = [400, 403, 404, 429, 502, 503, 504];

export interface ChatOptions extends AdmitOptions, ChatResponderOptions {
  meter: RecorderFactory<GatewayRecorder>;
}

/** gateway.does.1: one JSON reply, or gateway.events.p1: the one channel of events. */
export function openChatRoutes(
  router: Router,
  execution: ChatExecution,
  options: ChatOptions,
): void {
  const admit = createAdmit(execution, options);
  const responder = createResponder(execution, options);
  router.post(
    "/v1/chat/completions",
    {
      summary: "Answer a conversation",
      description: "One JSON reply, or server-sent events when `stream` is true.",
      body: ChatRequest,
      bodyBytesMax: BODY_BYTES_MAX,
      isSlow: true,
      meter: options.meter,
      replies: {
        [options.status]: {
          description:
            "The reply, or the stream of its chunks: 201, or 200 where the operator has set " +
            "`service.chat_status` so. Any 2xx is success.",
          schema: ChatReply,
          stream: ChatChunk,
          headers: ["server-timing", "x-wadi-ignored", ...LIMIT_HEADERS, ...DEPRECATION],
        },
      },
      refusals: [
        "context_length_exceeded",
        "scope_required",
        "model_not_permitted",
        "model_not_found",
        "upstream_rate_limited",
        "upstream_error",
        "model_unavailable",
        "model_offline",
        "no_model_available",
        "upstream_timeout",
      ],
      refusal_headers: {
        ...Object.fromEntries(MARKED.map((status) => [status, DEPRECATION])),
        403: [...LIMIT_ERROR_HEADERS, ...DEPRECATION],
        429: [...LIMIT_ERROR_HEADERS, ...DEPRECATION],
      },
    },
    async ({ body, caller, request, requestId, recorder }) => {
      recorder.is_stream = body.stream === true;
      const { trace } = recorder;
      const admitted = await admit(body, { caller, request_id: requestId, trace, recorder });
      try {
        // gateway.endpoints.chat_completions.stream
        if (!body.stream) return await responder.json(admitted, request.signal);
        const hasUsage = body.stream_options?.include_usage === true;
        return await responder.stream(admitted, request.signal, hasUsage);
      } catch (error) {
        throw addHeaders(error, admitted.headers);
      }
    },
  );
}
