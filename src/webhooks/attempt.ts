// One attempt at a delivery: what is sent as it is now, signed anew, and what that came to.
import type { Bound } from "../platform/database/index.ts";
import { drawFraction } from "../platform/ids.ts";
import { createSecretPairs } from "../platform/signing/secret-pair.ts";
import { signMessage } from "../platform/signing/signature.ts";
import type { Around } from "./around.ts";
import { writeMessage } from "./message.ts";
import { type Place, settleAttempt, settleUntried } from "./outcome.ts";
import type { Claimed, Sending } from "./store/claim.ts";
import type { webhookStore } from "./store/index.ts";
import type { Settlement } from "./store/settle.ts";
import { type AttemptEnd, judgeOutcome, RESPONSE_BYTES_MAX } from "./verdict.ts";

/** For everything together; names and connections have less of their own. */
const TIMEOUT_MS = 15_000;

export interface Attempted {
  settlement: Settlement;
  /** null: nothing was sent, or nobody knows. */
  end: AttemptEnd | null;
  duration_ms: number;
  /** Nothing more is sent to the endpoint until it, or what it needs, is looked at anew. */
  is_standstill: boolean;
}

export interface AttemptOptions {
  around: Pick<Around, "egress" | "secrets" | "clock" | "ids" | "log">;
  store: Pick<Bound<typeof webhookStore>, "findSending">;
}

/** `signal` gives it up: then it has not been. */
export type Attempting = (claimed: Claimed, signal: AbortSignal) => Promise<Attempted>;

export function createAttempting({ around, store }: AttemptOptions): Attempting {
  const { egress, clock, ids, log } = around;
  const pairs = createSecretPairs(around.secrets);

  /** What is to be sent and where; or what becomes of a delivery of which nothing can be. */
  const prepare = async (claimed: Claimed) => {
    const sending = await store.findSending(claimed.id);
    if (!sending || !isWanted(sending, claimed)) return "released";
    if (sending.event_data === null) return "expired";
    const { webhook_id: row_id, account_id } = claimed;
    const opened = await pairs.open({ kind: "webhook", row_id, account_id }, clock.now());
    // agents.errors.webhooks_unavailable: no attempt is used up by what is wrong here.
    if (!opened.ok) return "standstill";
    const body = Buffer.from(
      writeMessage({
        id: claimed.event_id,
        type: sending.event_type!,
        created_at: sending.event_created_at!,
        data: sending.event_data,
      }),
    );
    const place = { url: sending.url!, updated_at: sending.updated_at! };
    return { place, secrets: opened.secrets, body };
  };
  /** agents.authentication.7: signed at the time of each attempt. */
  const send = (claimed: Claimed, prepared: Prepared, signal: AbortSignal) => {
    const { secrets, body } = prepared;
    const { url } = prepared.place;
    const { event_id } = claimed;
    const timestamp_s = Math.floor(clock.now() / 1_000);
    const headers = {
      "content-type": "application/json",
      // agents.events.webhook.3, agents.resources.delivery
      "webhook-id": event_id,
      "webhook-timestamp": String(timestamp_s),
      // agents.authentication.webhook_signature
      "webhook-signature": signMessage(secrets, event_id, timestamp_s, body),
    };
    const limits = { timeout_ms: TIMEOUT_MS, response_bytes_max: RESPONSE_BYTES_MAX };
    return egress.request({ url, method: "POST", headers, body, ...limits, signal });
  };
  const attempt = async (claimed: Claimed, signal: AbortSignal): Promise<Attempted> => {
    const prepared = await prepare(claimed);
    if (typeof prepared === "string") return leave(claimed, prepared);
    const started_at = clock.now();
    const begun = clock.monotonic();
    const outcome = await send(claimed, prepared, signal);
    const duration_ms = Math.round(clock.monotonic() - begun);
    const verdict = judgeOutcome(outcome, clock);
    if (verdict === null) return leave(claimed, "released");
    const tried = { ...prepared.place, started_at, duration_ms, now: clock.now() };
    const settlement = settleAttempt(claimed, verdict, { ...tried, fraction: drawFraction(ids) });
    // It is disabled as soon as this is written.
    return { settlement, end: verdict.end, duration_ms, is_standstill: verdict.is_gone };
  };
  return async (claimed, signal) => {
    try {
      return await attempt(claimed, signal);
    } catch (error) {
      // A database that cannot be read, or a bug: neither is the endpoint's doing.
      log.error("a webhook could not be sent", { error });
      return leave(claimed, "standstill");
    }
  };
}

function leave(claimed: Claimed, why: "released" | "expired" | "standstill"): Attempted {
  const is_standstill = why === "standstill";
  const settlement = settleUntried(claimed, is_standstill ? "released" : why);
  return { settlement, end: null, duration_ms: 0, is_standstill };
}

interface Prepared {
  place: Place;
  /** All that hold now. */
  secrets: readonly string[];
  body: Uint8Array;
}

/** Not where it was cancelled, its endpoint was deleted or disabled, or another process has it. */
function isWanted(sending: Sending, { epoch }: Claimed): boolean {
  const { status, endpoint_status } = sending;
  return status === "pending" && sending.epoch === epoch && endpoint_status === "enabled";
}
