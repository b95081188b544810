// What a caller is told of a failed answer: as an ordinary error, or inside a stream.
import { writeErrorFrame } from "../../http/index.ts";
import type { Failure } from "../../models/index.ts";
import { type Code, type Refusal, refuse } from "../../platform/refusal.ts";
import { isRevoked } from "../running.ts";
import type { Admitted } from "./admit.ts";
import { explainLength } from "./fit.ts";
import { refuseGone } from "./permit.ts";

/** gateway.events.4: no other code stands in a stream. */
const IN_BAND: readonly Code[] = ["context_length_exceeded", "upstream_error", "upstream_timeout"];

/** The refusal that a failure becomes. */
export function refuseFailure(
  failure: Failure,
  { ask, model, by }: Pick<Admitted, "ask" | "model" | "by">,
): Refusal {
  const { code } = failure;
  if (isRevoked(failure)) return refuse("invalid_api_key");
  switch (code) {
    // gateway.errors.context_length_exceeded
    case "context_length_exceeded": {
      const message = explainLength(model.settings, ask, failure);
      return refuse(code, { param: "messages", message });
    }
    case "model_offline":
    case "model_unavailable":
      return refuseGone(code, by);
    default:
      return refuse(code);
  }
}

/** What is said of a refusal inside a stream. */
export function nameInBand(refusal: Refusal): Refusal {
  const { code, message } = refusal;
  if (code === "invalid_api_key") return refuse("upstream_error", { message });
  return IN_BAND.includes(code) ? refusal : refuse("upstream_error");
}

/** The frame of a refusal, where the status has gone out already. */
export function writeRefusal({ code, message, say }: Refusal, request_id: string): string {
  return writeErrorFrame(code, message, request_id, say.param);
}

/** A refusal that comes too late to be an ordinary error: the model did not go on, and no bug. */
export function blameModel({ code }: Refusal): Failure {
  return { ok: false, code: "upstream_error", elsewhere: false, why: `it refused with ${code}` };
}
