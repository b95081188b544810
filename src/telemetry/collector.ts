// Requests to the collector: one at a time and path, each with a bound of time.
import {
  type FetchFailure,
  OWN_ACCOUNT,
  type ReplyHead,
  type TrustedEgress,
  type TrustedServer,
} from "../net/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { TelemetrySettings } from "../settings/index.ts";

const CONNECT_MS = 5_000;
const REPLY_MS = 10_000;
/** Maximum length of a reply that is read for what the collector rejected. */
const REPLY_CHARACTERS_MAX = 65_536;
/** Statuses after which the same request may succeed later. */
const TEMPORARY = [429, 502, 503, 504];

/** `later`: the same may be sent again · `refused`: it would be refused again. */
export type Sent =
  | { kind: "taken"; rejected: number }
  | { kind: "later"; reason: string }
  | { kind: "refused"; reason: string };

export type SendToCollector = (body: string) => Promise<Sent>;

export function openCollector(
  path: "/v1/traces" | "/v1/metrics",
  { otlp, headers }: Pick<TelemetrySettings, "otlp" | "headers">,
  { egress, clock }: { egress: TrustedEgress; clock: Clock },
): SendToCollector {
  const own = { "content-type": "application/json", "user-agent": "wadi", ...headers };
  const server = egress.open(otlp + path, { headers: own, connectTimeoutMs: CONNECT_MS });
  return (body) => send(server, clock, body);
}

function send(server: TrustedServer, clock: Clock, body: string): Promise<Sent> {
  const { promise, resolve, reject } = Promise.withResolvers<Sent>();
  let status = 0;
  let text = "";
  const exchange = server.post(
    body,
    {},
    {
      onHead: (head: ReplyHead) => {
        status = head.status;
      },
      onBody: (bytes: Buffer) => {
        if (text.length < REPLY_CHARACTERS_MAX) text += bytes.toString();
      },
      onEnd: () => resolve(judge(status, text)),
      onFailure: (failure: FetchFailure) => resolve({ kind: "later", reason: failure }),
      onBug: reject,
    },
    OWN_ACCOUNT,
  );
  const cancel = clock.after(REPLY_MS, () => {
    exchange.cut();
    resolve({ kind: "later", reason: "timeout" });
  });
  return promise.finally(cancel);
}

function judge(status: number, text: string): Sent {
  if (status >= 200 && status < 300) return { kind: "taken", rejected: readRejected(text) };
  const reason = `status ${status}`;
  return TEMPORARY.includes(status) ? { kind: "later", reason } : { kind: "refused", reason };
}

/** Reads how many parts of a request the collector did not take. */
function readRejected(text: string): number {
  try {
    const { partialSuccess } = JSON.parse(text) as { partialSuccess?: Record<string, unknown> };
    const rejected = partialSuccess?.rejectedSpans ?? partialSuccess?.rejectedDataPoints;
    return Math.max(0, Number(rejected ?? 0)) || 0;
  } catch {
    return 0;
  }
}
