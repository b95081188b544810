// The common parts of the routes of chats in all formats.
import type { RecorderFactory } from "../../http/index.ts";
import type { ErrorCode } from "../../platform/errors.ts";
import type { Ids } from "../../platform/ids.ts";
import { LIMIT_ERROR_HEADERS, LIMIT_HEADERS } from "../budgets/headers.ts";
import type { GatewayRecorder } from "../request-log/recorder.ts";
import type { AdmitOptions } from "./admit.ts";
import type { ChatResponderOptions } from "./response.ts";

export interface ChatOptions extends AdmitOptions, Omit<ChatResponderOptions, "dialect"> {
  alias: string;
  ids: Ids;
  meter: RecorderFactory<GatewayRecorder>;
}

export interface DialectOptions extends Omit<ChatOptions, "status"> {
  /** The operator has opened the route. */
  isOpen(): boolean;
}

export const CHAT_PATH = "/v1/chat/completions";
/** gateway.errors.headers.deprecation, for the API document. */
export const DEPRECATION = ["deprecation", "link", "sunset"] as const;
const MARKED = [400, 403, 404, 429, 502, 503, 504];

export const CHAT_REPLY_HEADERS = [
  "server-timing",
  "x-wadi-ignored",
  ...LIMIT_HEADERS,
  ...DEPRECATION,
] as const;

export const CHAT_SPEC = {
  /** gateway.endpoints.chat_completions.5 */
  bodyBytesMax: 256 * 1024,
  isSlow: true,
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
  ] satisfies ErrorCode[],
  refusal_headers: {
    ...Object.fromEntries(MARKED.map((status) => [status, DEPRECATION])),
    403: [...LIMIT_ERROR_HEADERS, ...DEPRECATION],
    429: [...LIMIT_ERROR_HEADERS, ...DEPRECATION],
  },
};
