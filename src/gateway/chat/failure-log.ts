// The line of the log about an answer that failed: who asked whom, and what became of it.
import type { ModelRequest, UpstreamError } from "../../models/index.ts";
import { ERROR_CODES } from "../../platform/errors.ts";
import type { Log } from "../../platform/log.ts";
import { traceIdOf } from "../../platform/trace.ts";
import { isRevoked, isStopped } from "../in-flight.ts";
import type { AdmittedChat } from "./admit.ts";

/** `user`: the end user as a hash; undefined: none. */
export function logFailure(
  log: Log,
  failure: UpstreamError,
  { request: ask, caller, model }: Pick<AdmittedChat, "request" | "caller" | "model">,
  user: string | undefined,
): void {
  const { code, reason: why, upstreamStatus: upstream_status } = failure;
  const { account_id, key_id } = caller;
  const who = { ...requestLogFields(ask), account_id, key_id, user, model: model.settings.id };
  const fields = { ...who, upstream_status, code };
  // gateway.errors.client_closed_request: logged only, with the status that nobody receives.
  if (code === "client_closed_request")
    log.info(why, { ...fields, status: ERROR_CODES[code].status });
  else if (code === "context_length_exceeded" || isStopped(failure) || isRevoked(failure))
    log.info(why, fields);
  else log.warn(`the model server failed: ${why}`, fields);
}

/** What every line about a request says. */
export function requestLogFields({
  request_id,
  trace,
}: Pick<ModelRequest, "request_id" | "trace">) {
  return { request_id, trace_id: traceIdOf(trace) };
}
