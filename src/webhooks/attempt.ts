// Makes one attempt at a delivery: reads what is to be sent, signs it and sends it.
import { createSecretPairs, type SecretPairs, signMessage } from "../crypto/index.ts";
import type { Bound } from "../database/index.ts";
import { drawFraction } from "../platform/ids.ts";
import type { WebhookDeps } from "./deps.ts";
import { writeEvent } from "./event.ts";
import {
  type AttemptOutcome,
  classifyResponse,
  decideResult,
  RESPONSE_BYTES_MAX,
  skipAttempt,
} from "./response.ts";
import type { AttemptInput, ClaimedDelivery } from "./store/claim.ts";
import type { webhookStore } from "./store/index.ts";
import type { AttemptResult } from "./store/results.ts";

/** Maximum duration of an attempt; resolving and connecting have less of their own. */
const TIMEOUT_MS = 15_000;

export interface FinishedAttempt {
  result: AttemptResult;
  /** `none`: nothing was sent, or the attempt was aborted. */
  outcome: AttemptOutcome | "none";
  /** Stops sending to the endpoint until it, or what it needs, changes. */
  pauses: boolean;
}

type SenderDeps = Pick<WebhookDeps, "egress" | "secrets" | "clock" | "ids" | "log" | "process">;
type SenderStore = Pick<Bound<typeof webhookStore>, "findSending">;

interface OutgoingEvent {
  url: string;
  updatedAt: number;
  secrets: readonly string[];
  body: Uint8Array;
}

export class Sender {
  readonly #deps: SenderDeps;
  readonly #store: SenderStore;
  readonly #secrets: SecretPairs;

  constructor(deps: SenderDeps, store: SenderStore) {
    this.#deps = deps;
    this.#store = store;
    this.#secrets = createSecretPairs(deps.secrets);
  }

  /** Never rejects; `signal` gives the attempt up as if it had not been made. */
  async send(delivery: ClaimedDelivery, signal: AbortSignal): Promise<FinishedAttempt> {
    try {
      return await this.#attempt(delivery, signal);
    } catch (error) {
      // A database that cannot be read, or a bug: neither counts against the endpoint.
      this.#deps.log.error("webhooks: an attempt could not be made", { error });
      return skip(delivery, "unavailable");
    }
  }

  async #attempt(delivery: ClaimedDelivery, signal: AbortSignal): Promise<FinishedAttempt> {
    const { clock, ids, process } = this.#deps;
    const message = await this.#prepare(delivery);
    if (typeof message === "string") return skip(delivery, message);
    // The wait uses up no time of the attempt.
    if (!(await process.fence.pass(signal))) return skip(delivery, "released");
    const startedAt = clock.now();
    const begun = clock.monotonic();
    const response = classifyResponse(
      await this.#post(delivery, message, { startedAt, signal }),
      clock,
    );
    if (response === "aborted") return skip(delivery, "released");
    const result = decideResult(delivery, response, {
      startedAt,
      durationMs: Math.round(clock.monotonic() - begun),
      now: clock.now(),
      url: message.url,
      signatures: message.secrets.length,
      updatedAt: message.updatedAt,
      fraction: drawFraction(ids),
    });
    // An endpoint that is gone is disabled as soon as the result is written.
    return { result, outcome: response.outcome, pauses: response.isGone };
  }

  async #prepare(
    delivery: ClaimedDelivery,
  ): Promise<OutgoingEvent | "released" | "expired" | "unavailable"> {
    const { id, event_id, webhook_id: row_id, account_id } = delivery;
    const input = await this.#store.findSending(id);
    if (!input || !isWanted(input, delivery)) return "released";
    if (input.event_data === null) return "expired";
    const place = { kind: "webhook", row_id, account_id } as const;
    const opened = await this.#secrets.open(place, this.#deps.clock.now());
    // agents.errors.webhooks_unavailable: a broken key file uses no attempt up.
    if (!opened.ok) return "unavailable";
    const text = writeEvent({
      id: event_id,
      type: input.event_type!,
      created_at: input.event_created_at!,
      data: input.event_data,
    });
    return {
      url: input.url!,
      updatedAt: input.updated_at!,
      secrets: opened.secrets,
      body: Buffer.from(text),
    };
  }

  /** agents.authentication.7: signed at the time of each attempt. */
  #post(
    { event_id }: ClaimedDelivery,
    { url, secrets, body }: OutgoingEvent,
    { startedAt, signal }: { startedAt: number; signal: AbortSignal },
  ) {
    const head = writeSignedHead(event_id, startedAt);
    return this.#deps.egress.request({
      url,
      method: "POST",
      headers: {
        ...head,
        // agents.authentication.webhook_signature
        "webhook-signature": signMessage(
          secrets,
          event_id,
          Number(head["webhook-timestamp"]),
          body,
        ),
      },
      body,
      timeoutMs: TIMEOUT_MS,
      responseBytesMax: RESPONSE_BYTES_MAX,
      signal,
    });
  }
}

/** Headers of an attempt but its signature: they follow from its event and its start. */
export function writeSignedHead(event_id: string, startedAt: number) {
  return {
    "content-type": "application/json",
    // agents.events.webhook.3, agents.resources.delivery
    "webhook-id": event_id,
    "webhook-timestamp": String(Math.floor(startedAt / 1_000)),
  };
}

function skip(
  delivery: ClaimedDelivery,
  why: "released" | "expired" | "unavailable",
): FinishedAttempt {
  const pauses = why === "unavailable";
  return { result: skipAttempt(delivery, pauses ? "released" : why), outcome: "none", pauses };
}

function isWanted(input: AttemptInput, { epoch }: ClaimedDelivery): boolean {
  const { status, endpoint_status } = input;
  return status === "pending" && input.epoch === epoch && endpoint_status === "enabled";
}
