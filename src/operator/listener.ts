// Receives events on this machine as their endpoint would: verifies them, and tells what came.
import { type Letter, openReceiver, parseBody } from "../http/index.ts";
import type { Clock } from "../platform/clock.ts";
import { verifyMessage } from "../platform/signing/signature.ts";

/** As the standard has it: an older or younger one may be somebody's copy. */
const TIMESTAMP_SECONDS_MAX = 300;
/** Of so many, the last ones, it is known that they have come before. */
const IDS_MAX = 10_000;
const ID = /^[\x20-\x7e]{1,128}$/;
const TIMESTAMP = /^[0-9]{1,12}$/;

/** What came, and what was made of it. */
export interface Arrival {
  /** ISO 8601 in UTC. */
  at: string;
  path: string;
  /** `unverified`: there is no secret to verify with. */
  verdict: "verified" | "unverified" | "refused";
  /** Why it was refused; null: it was not. */
  why: string | null;
  /** null: it has none, or none that may be one. */
  webhook_id: string | null;
  /** How often this `webhook-id` has come, with this one; 0: it was refused. */
  times: number;
  /** The kind of the event; null: the body does not say. */
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
  onArrival(arrival: Arrival): void;
  onFailure(failure: unknown): void;
}

/** Listens on loopback; the caller stops it. */
export function openListener(options: ListenerOptions) {
  const { port, clock, onArrival, onFailure } = options;
  const judge = createJudge(options);
  const take = (letter: Letter) => {
    const arrival = judge(letter);
    onArrival(arrival);
    return { status: arrival.answered, text: arrival.why ?? arrival.verdict };
  };
  return openReceiver({ port, clock, take, onFailure });
}

/** Judges one letter after the other, and remembers which have come before. */
export function createJudge({
  secrets,
  status,
  clock,
}: Pick<ListenerOptions, "secrets" | "status" | "clock">): (letter: Letter) => Arrival {
  const times = createTimes();
  return (letter) => {
    const now = clock.now();
    const why = secrets.length === 0 ? null : judgeSignature(letter, secrets, now);
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

/** Why a letter is not what a secret has signed just now; null: it is. */
function judgeSignature(
  { headers, body }: Letter,
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

/** How often an id has come, of the last so many. */
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
