// The line of the log about an answer that failed: who asked whom, and what became of it.
import type { Ask, Failure } from "../../models/index.ts";
import type { Log } from "../../platform/log.ts";
import { CATALOGUE } from "../../platform/refusal.ts";
import { traceIdOf } from "../../platform/trace.ts";
import { isRevoked, isStopped } from "../running.ts";
import type { Admitted } from "./admit.ts";

/** `user`: the end user as a hash; undefined: none. */
export function noteFailure(
  log: Log,
  failure: Failure,
  { ask, caller, model }: Pick<Admitted, "ask" | "caller" | "model">,
  user: string | undefined,
): void {
  const { code, why, upstream_status } = failure;
  const { account_id, key_id } = caller;
  const who = { ...nameAsk(ask), account_id, key_id, user, model: model.settings.id };
  const fields = { ...who, upstream_status, code };
  // gateway.errors.client_closed_request: logged only, with the status that nobody receives.
  if (code === "client_closed_request")
    log.info(why, { ...fields, status: CATALOGUE[code].status });
  else if (code === "context_length_exceeded" || isStopped(failure) || isRevoked(failure))
    log.info(why, fields);
  else log.warn(`the model server failed: ${why}`, fields);
}

/** What every line about a request says. */
export function nameAsk({ request_id, trace }: Pick<Ask, "request_id" | "trace">) {
  return { request_id, trace_id: traceIdOf(trace) };
}
