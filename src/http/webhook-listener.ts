// A listener on loopback that takes webhooks without a key.
import type { Clock } from "../platform/clock.ts";
import { ApiError } from "../platform/errors.ts";
import { readBytes } from "./body.ts";
import { listen } from "./listener.ts";
import { closeAfterReply, hasBoundedBody } from "./unread-body.ts";

const HOST = "127.0.0.1";
const BODY_BYTES_MAX = 1024 * 1024;
/** Maximum requests at a time. */
const REQUESTS_MAX = 64;

export interface ReceivedBody {
  path: string;
  headers: Headers;
  body: Uint8Array;
}

export interface WebhookListenerOptions {
  /** 0 chooses a free port. */
  port: number;
  clock: Clock;
  take(received: ReceivedBody): { status: number; text: string };
  onFailure(failure: unknown): void;
}

export interface WebhookListener {
  url: string;
  stop(): Promise<void>;
}

/** Listens at once; throws if the port is not available. */
export function openWebhookListener({
  port,
  clock,
  take,
  onFailure,
}: WebhookListenerOptions): WebhookListener {
  let openRequests = 0;
  const receive = async (request: Request) => {
    if (request.method !== "POST") return answer(405, "Only POST is taken.", { allow: "POST" });
    if (openRequests === REQUESTS_MAX) return answer(503, "Too many at once: send it again.");
    openRequests++;
    try {
      const body = await readBytes(request, BODY_BYTES_MAX, clock);
      const { pathname: path } = new URL(request.url);
      const { status, text } = take({ path, headers: request.headers, body });
      return answer(status, text);
    } catch (failure) {
      if (failure instanceof ApiError) return answer(failure.status, failure.message);
      onFailure(failure);
      return answer(500, "It could not be taken.");
    } finally {
      openRequests--;
    }
  };
  const fetch = (request: Request) =>
    hasBoundedBody(request) ? receive(request) : closeAfterReply(request, receive(request), clock);
  const server = listen({ host: HOST, port }, { fetch });
  return { url: `http://${HOST}:${server.port}`, stop: () => server.stop(true) };
}

function answer(status: number, text: string, headers: Record<string, string> = {}): Response {
  // Replies of these statuses have no body.
  if (status === 204 || status === 205 || status === 304) return new Response(null, { status });
  const type = { "content-type": "text/plain; charset=utf-8" };
  return new Response(`${text}\n`, { status, headers: { ...type, ...headers } });
}
