// What the caller of embeddings or search is told of a server that failed, and the log of why.
import type { Failure } from "../../models/index.ts";
import { type Code, type Refusal, refuse, type Say } from "../../platform/refusal.ts";

/**
 * gateway.errors.service_unavailable: the server is out of reach, has enough to do or turns us
 * away, so that nothing was spent; the rest is as for chats.
 */
const TOLD: Partial<Record<Failure["code"], Code>> = {
  model_offline: "service_unavailable",
  model_unavailable: "service_unavailable",
  upstream_rate_limited: "service_unavailable",
};

/** The refusal that a failure becomes; `headers` are those of its code beside `Retry-After`. */
export function refuseShared(
  { code, retry_after_ms }: Failure,
  writeHeaders: (told: Code, retry_after_ms: number | undefined) => Record<string, string>,
): Refusal {
  const told = TOLD[code] ?? code;
  const headers = writeHeaders(told, retry_after_ms);
  if (told === "service_unavailable" && retry_after_ms !== undefined) {
    // gateway.errors.headers.retry_after
    headers["retry-after"] = String(Math.max(1, Math.ceil(retry_after_ms / 1000)));
  }
  const say: Say = { headers };
  return refuse(told, say);
}
