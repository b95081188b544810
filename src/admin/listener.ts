// Receives webhooks on this machine as an endpoint would: verifies and reports them.

import { verifyMessage } from "../crypto/index.ts";
import { openWebhookListener, parseBody, type ReceivedBody } from "../http/index.ts";
import type { Clock } from "../platform/clock.ts";

/** Maximum age of a timestamp, as the standard says: beyond it may be a replay. */
const TIMESTAMP_SECONDS_MAX = 300;
/** Maximum remembered ids; least recently received are evicted. */
const IDS_MAX = 10_000;
const ID = /^[\x20-\x7e]{1,128}$/;
const TIMESTAMP = /^[0-9]{1,12}$/;

/** What came, and what was made of it. */
export interface ReceivedWebhook {
  /** ISO 8601 in UTC. */
  at: string;
  path: string;
  /** `unverified`: there is no secret to verify with. */
  verdict: "verified" | "unverified" | "refused";
  /** Reason of a refusal. */
  why: string | null;
  webhook_id: string | null;
  /** Times this `webhook-id` has come, including now; 0 where it was refused. */
  times: number;
  /** Event type in the body. */
  type: string | null;
  /** The HTTP status that its sender was told. */
  answered: number;
  /** The JSON of the body; its text where it is none. */
  body: unknown;
}

export interface ListenerOptions {
  /** 0: a free one. */
  port: number;
  /** Any of them verifies; none: nothing is verified. */
  secrets: readonly string[];
  /** What is answered to what is not refused. */
  status: number;
  clock: Clock;
  onArrival(arrival: ReceivedWebhook): void;
  onFailure(failure: unknown): void;
}

/** Listens on loopback; the caller stops it. */
export function openListener(options: ListenerOptions) {
  const { port, clock, onArrival, onFailure } = options;
  const judge = createVerifier(options);
  const take = (letter: ReceivedBody) => {
    const arrival = judge(letter);
    onArrival(arrival);
    return { status: arrival.answered, text: arrival.why ?? arrival.verdict };
  };
  return openWebhookListener({ port, clock, take, onFailure });
}

/** Verifies webhooks and counts repeats. */
export function createVerifier({
  secrets,
  status,
  clock,
}: Pick<ListenerOptions, "secrets" | "status" | "clock">): (
  letter: ReceivedBody,
) => ReceivedWebhook {
  const times = createTimes();
  return (letter) => {
    const now = clock.now();
    const why = secrets.length === 0 ? null : checkSignature(letter, secrets, now);
    const sent_id = letter.headers.get("webhook-id");
    const webhook_id = sent_id !== null && ID.test(sent_id) ? sent_id : null;
    const body = readBody(letter.body);
    const taken = secrets.length === 0 ? "unverified" : "verified";
    return {
      at: new Date(now).toISOString(),
      path: letter.path,
      verdict: why === null ? taken : "refused",
      why,
      webhook_id,
      // Whoever cannot sign must not make a repetition of what has yet to come.
      times: why === null ? times.count(webhook_id) : 0,
      type: readType(body),
      answered: why === null ? status : 401,
      body,
    };
  };
}

/** Returns why a signature is refused; null where it verifies. */
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

function createTimes() {
  const known = new Map<string, number>();
  return {
    count(id: string | null): number {
      if (id === null) return 1;
      const times = (known.get(id) ?? 0) + 1;
      // Last again, so that what goes first is what has not come for longest.
      known.delete(id);
      known.set(id, times);
      if (known.size > IDS_MAX) known.delete(known.keys().next().value!);
      return times;
    },
  };
}

function readBody(bytes: Uint8Array): unknown {
  const parsed = parseBody(bytes);
  return "value" in parsed ? parsed.value : new TextDecoder().decode(bytes);
}

function readType(body: unknown): string | null {
  const type = typeof body === "object" && body !== null && "type" in body ? body.type : null;
  return typeof type === "string" ? type : null;
}
