// What a caller is told of a failed answer: as an ordinary error, or inside a stream.
import { writeErrorFrame } from "../../http/index.ts";
import type { UpstreamError } from "../../models/index.ts";
import { type ApiError, apiError, type ErrorCode } from "../../platform/errors.ts";
import { isRevoked } from "../in-flight.ts";
import type { AdmittedChat } from "./admit.ts";
import { unavailableError } from "./authorize.ts";
import { explainLength } from "./context-check.ts";

/** gateway.events.4: no other code stands in a stream. */
const IN_BAND: readonly ErrorCode[] = [
  "context_length_exceeded",
  "upstream_error",
  "upstream_timeout",
];

/** The refusal that a failure becomes. */
export function errorOfCompletion(
  failure: UpstreamError,
  { request: ask, model, by }: Pick<AdmittedChat, "request" | "model" | "by">,
): ApiError {
  const { code } = failure;
  if (isRevoked(failure)) return apiError("invalid_api_key");
  switch (code) {
    // gateway.errors.context_length_exceeded
    case "context_length_exceeded": {
      const message = explainLength(model.settings, ask, failure);
      return apiError(code, { param: "messages", message });
    }
    case "model_offline":
    case "model_unavailable":
      return unavailableError(code, by);
    default:
      return apiError(code);
  }
}

/** What is said of a refusal inside a stream. */
export function nameInBand(refusal: ApiError): ApiError {
  const { code, message } = refusal;
  if (code === "invalid_api_key") return apiError("upstream_error", { message });
  return IN_BAND.includes(code) ? refusal : apiError("upstream_error");
}

/** The frame of a refusal, where the status has gone out already. */
export function writeRefusal(
  { code, message, details: say }: ApiError,
  request_id: string,
): string {
  return writeErrorFrame(code, message, request_id, say.param);
}

/** A refusal that comes too late to be an ordinary error: the model did not go on, and no bug. */
export function blameModel({ code }: ApiError): UpstreamError {
  return { ok: false, code: "upstream_error", retryable: false, reason: `it refused with ${code}` };
}
