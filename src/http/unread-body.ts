// Bounds the bytes read of a refused body: its sender gets the reply, then the connection ends.
import type { Clock } from "../platform/clock.ts";
import type { OpenRequests } from "./clients.ts";

const UNREAD_BYTES_MAX = 256 * 1024;
/** Maximum time for the rest of a body. */
const UNREAD_MS_MAX = 5_000;
/** Maximum time without a byte of it. */
const SILENT_MS_MAX = 1_000;

type UnreadRest = Pick<ReadableStreamDefaultReader<Uint8Array>, "read" | "cancel">;

export function hasBoundedBody({ headers }: Request): boolean {
  const length = headers.get("content-length");
  return length === null ? !headers.has("transfer-encoding") : Number(length) <= UNREAD_BYTES_MAX;
}

/** Closes the connection after the reply. */
export async function sendAsLast(reply: Response | Promise<Response>): Promise<Response> {
  const response = await reply;
  response.headers.set("connection", "close");
  return response;
}

/**
 * Sends a reply at once, discards a bounded rest of the body, and closes the connection. An earlier
 * close would show the sender a reset instead of the reply.
 */
export async function closeAfterReply(
  request: Request,
  reply: Response | Promise<Response>,
  clock: Clock,
  openRefusals?: Pick<OpenRequests, "add" | "delete">,
): Promise<Response> {
  const response = await reply;
  // Bun gives no `body` for GET and HEAD but reads it whole, unless the connection closes.
  if (!request.body) response.headers.set("connection", "close");
  // A successful request has read its body; a locked body was read to its end.
  if (response.ok || !request.body || request.body.locked) return response;
  response.headers.set("connection", "close");
  if (request.method === "HEAD") return response;
  const { status, headers } = response;
  const text = await response.bytes();
  const rest = request.body.getReader();
  const body = new ReadableStream({
    type: "direct",
    async pull(sink: ReadableStreamDirectController) {
      void sink.write(text);
      void sink.flush();
      openRefusals?.add(request);
      await discard(rest, request.signal, clock);
      openRefusals?.delete(request);
      sink.close();
    },
  });
  return new Response(body, { status, headers });
}

async function discard(rest: UnreadRest, signal: AbortSignal, clock: Clock): Promise<void> {
  const over = Promise.withResolvers<null>();
  const end = () => over.resolve(null);
  const beganAt = clock.monotonic();
  let length = 0;
  const endIfSilent = (lengthBefore: number) => {
    const isLate = clock.monotonic() - beganAt >= UNREAD_MS_MAX;
    if (isLate || length === lengthBefore) return end();
    const seen = length;
    cancel = clock.after(SILENT_MS_MAX, () => endIfSilent(seen));
  };
  let cancel = clock.after(SILENT_MS_MAX, () => endIfSilent(0));
  signal.addEventListener("abort", end, { once: true });
  try {
    while (length < UNREAD_BYTES_MAX) {
      const piece = (await Promise.race([rest.read(), over.promise]))?.value;
      if (!piece) break;
      length += piece.length;
    }
  } catch {
    // The connection is gone.
  }
  cancel();
  signal.removeEventListener("abort", end);
  void rest.cancel().catch(() => {});
}
