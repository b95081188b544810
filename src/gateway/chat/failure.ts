// The errors that callers get for failed answers: as a reply, or inside a stream.
import { type UpstreamError, upstreamError } from "../../models/index.ts";
import { type ApiError, apiError, type ErrorCode } from "../../platform/errors.ts";
import { unavailableError } from "./authorize.ts";
import { explainLength } from "./context-check.ts";
import type { PreparedChat } from "./execution.ts";

/** gateway.events.4: the codes that a stream can carry. */
const IN_BAND: readonly ErrorCode[] = [
  "context_length_exceeded",
  "upstream_error",
  "upstream_timeout",
];

export function errorOfCompletion(
  failure: UpstreamError,
  { request, model, by }: Pick<PreparedChat, "request" | "model" | "by">,
): ApiError {
  const { code, endedBy } = failure;
  if (endedBy === "revocation") return apiError("invalid_api_key");
  switch (code) {
    // gateway.errors.context_length_exceeded
    case "context_length_exceeded": {
      const message = explainLength(model.settings, request, failure);
      return apiError(code, { param: "messages", message });
    }
    case "model_offline":
    case "model_unavailable":
      return unavailableError(code, by);
    default:
      return apiError(code);
  }
}

export function nameInBand(error: ApiError): ApiError {
  const { code, message } = error;
  if (code === "invalid_api_key") return apiError("upstream_error", { message });
  return IN_BAND.includes(code) ? error : apiError("upstream_error");
}

/** An ApiError after the status was sent counts as a failure of the model. */
export function blameModel({ code }: ApiError): UpstreamError {
  return upstreamError("upstream_error", `it refused with ${code}`);
}
