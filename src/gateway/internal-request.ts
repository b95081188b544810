// One request of an internal caller: recorded as one over HTTP, with its refusals as values.
import type { UpstreamError } from "../models/index.ts";
import { ApiError, apiError, type ErrorCode, publicCode } from "../platform/errors.ts";
import type { GatewayRecorder } from "./request-log/recorder.ts";

export interface InternalFailure {
  ok: false;
  /** The code and the sentence that a caller of the gateway would get. */
  code: ErrorCode;
  reason: string;
  /** The stop of the program ended it; the request can be repeated. */
  isStopped?: true;
  /** The pause that a limit or a server asks for. */
  retry_after_ms?: number;
  /** The same request fails again, whenever it is sent. */
  isFinal?: true;
}

export function toInternalFailure(
  error: ApiError,
  endedBy?: UpstreamError["endedBy"],
): InternalFailure {
  const code = publicCode(error.code, "gateway") as ErrorCode;
  const failure: InternalFailure = { ok: false, code, reason: error.message };
  if (endedBy === "stop") failure.isStopped = true;
  const headers = error.details.headers ?? {};
  if (headers["retry-after"]) failure.retry_after_ms = Number(headers["retry-after"]) * 1_000;
  if (headers["x-should-retry"] === "false") failure.isFinal = true;
  return failure;
}

/** Records how `run` ends; `status` is that of a success. */
export async function recordInternal<R extends { ok: true } | InternalFailure>(
  recorder: GatewayRecorder,
  status: number,
  run: () => Promise<R>,
  onBug: (error: unknown) => void,
): Promise<R | InternalFailure> {
  // Internal requests have no rate limit.
  recorder.isAdmitted = true;
  try {
    const result = await run();
    if (result.ok) recorder.close(status, null, 0);
    else {
      const refusal = apiError(result.code, { message: result.reason });
      recorder.explain(refusal);
      recorder.close(refusal.status, result.code, 0);
    }
    return result;
  } catch (error) {
    if (error instanceof ApiError) {
      const failure = toInternalFailure(error);
      recorder.explain(error);
      recorder.close(error.status, failure.code, 0);
      return failure;
    }
    onBug(error);
    recorder.close(apiError("internal_error").status, "internal_error", 0);
    throw error;
  }
}
