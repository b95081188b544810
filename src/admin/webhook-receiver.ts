// Receives webhooks on this machine as an endpoint would: verifies and reports them.
import { verifyMessage } from "../crypto/index.ts";
import { openWebhookListener, parseBody, type ReceivedBody } from "../http/index.ts";
import type { Clock } from "../platform/clock.ts";

/** Maximum age of a timestamp; an older one may be a replay. */
const TIMESTAMP_SECONDS_MAX = 300;
/** Maximum remembered ids; least recently received are evicted. */
const IDS_MAX = 10_000;
const ID = /^[\x20-\x7e]{1,128}$/;
const TIMESTAMP = /^[0-9]{1,12}$/;

export interface ReceivedWebhook {
  at: string;
  path: string;
  /** `unverified`: no secret is given. */
  verdict: "verified" | "unverified" | "refused";
  why: string | null;
  webhook_id: string | null;
  /** Arrivals of this `webhook-id` including this one; 0 when refused. */
  times: number;
  type: string | null;
  answered: number;
  body: unknown;
}

export interface ReceiverOptions {
  port: number;
  /** Any of them verifies; without secrets nothing is verified. */
  secrets: readonly string[];
  status: number;
  clock: Clock;
  onArrival(arrival: ReceivedWebhook): void;
  onFailure(failure: unknown): void;
}

/** Listens on loopback; the caller stops it. */
export function openWebhookReceiver(options: ReceiverOptions) {
  const { port, clock, onArrival, onFailure } = options;
  const verify = createVerifier(options);
  const take = (received: ReceivedBody) => {
    const arrival = verify(received);
    onArrival(arrival);
    return { status: arrival.answered, text: arrival.why ?? arrival.verdict };
  };
  return openWebhookListener({ port, clock, take, onFailure });
}

export function createVerifier({
  secrets,
  status,
  clock,
}: Pick<ReceiverOptions, "secrets" | "status" | "clock">): (
  received: ReceivedBody,
) => ReceivedWebhook {
  const arrivals = new Arrivals();
  return (received) => {
    const now = clock.now();
    const why = secrets.length === 0 ? null : checkSignature(received, secrets, now);
    const sentId = received.headers.get("webhook-id");
    const webhook_id = sentId !== null && ID.test(sentId) ? sentId : null;
    const body = readBody(received.body);
    const taken = secrets.length === 0 ? "unverified" : "verified";
    return {
      at: new Date(now).toISOString(),
      path: received.path,
      verdict: why === null ? taken : "refused",
      why,
      webhook_id,
      // A forged request must not mark a later genuine one as a repeat.
      times: why === null ? arrivals.count(webhook_id) : 0,
      type: readType(body),
      answered: why === null ? status : 401,
      body,
    };
  };
}

function checkSignature(
  { headers, body }: ReceivedBody,
  secrets: readonly string[],
  now: number,
): string | null {
  const id = headers.get("webhook-id") ?? "";
  const timestamp = headers.get("webhook-timestamp") ?? "";
  const signature = headers.get("webhook-signature");
  if (!ID.test(id)) return "its webhook-id is missing, or not 1 to 128 printable characters";
  if (!TIMESTAMP.test(timestamp)) return "its webhook-timestamp is missing, or no whole seconds";
  if (signature === null) return "it has no webhook-signature";
  if (!verifyMessage(secrets, { id, timestamp, signature }, body)) {
    return "its signature is not that of a secret given here: another secret, or other bytes";
  }
  const late_s = Math.floor(now / 1000) - Number(timestamp);
  if (Math.abs(late_s) <= TIMESTAMP_SECONDS_MAX) return null;
  const way = late_s > 0 ? "behind" : "ahead of";
  return (
    `its webhook-timestamp is ${Math.abs(late_s)} seconds ${way} this machine's clock, ` +
    `and at most ${TIMESTAMP_SECONDS_MAX} are taken`
  );
}

class Arrivals {
  readonly #counts = new Map<string, number>();

  count(id: string | null): number {
    if (id === null) return 1;
    const count = (this.#counts.get(id) ?? 0) + 1;
    // Deleting first keeps the map in the order of the last arrivals.
    this.#counts.delete(id);
    this.#counts.set(id, count);
    if (this.#counts.size > IDS_MAX) this.#counts.delete(this.#counts.keys().next().value!);
    return count;
  }
}

function readBody(bytes: Uint8Array): unknown {
  const parsed = parseBody(bytes);
  return "value" in parsed ? parsed.value : new TextDecoder().decode(bytes);
}

function readType(body: unknown): string | null {
  const type = typeof body === "object" && body !== null && "type" in body ? body.type : null;
  return typeof type === "string" ? type : null;
}
