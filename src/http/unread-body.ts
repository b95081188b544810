// Bounds what is read of a body behind a refusal: its sender gets the reply, and then the end.
import type { Clock } from "../platform/clock.ts";

const UNREAD_BYTES_MAX = 256 * 1024;
/** Its sender has had the time to read the reply: after so long in all, or in silence. */
const UNREAD_MS_MAX = 5_000;
const SILENT_MS_MAX = 1_000;

type UnreadRest = Pick<ReadableStreamDefaultReader<Uint8Array>, "read" | "cancel">;

/** Whether no more than that can be left of the body, whatever became of the request. */
export function isBounded({ headers }: Request): boolean {
  const length = headers.get("content-length");
  return length === null ? !headers.has("transfer-encoding") : Number(length) <= UNREAD_BYTES_MAX;
}

/**
 * Sends a reply at once and closes the connection behind it, as soon as the body has ended or
 * enough of it was thrown away. Closed sooner, its sender would see a reset and not the reply.
 */
export async function closeAfterReply(
  request: Request,
  reply: Response | Promise<Response>,
  clock: Clock,
): Promise<Response> {
  const response = await reply;
  // Bun hands no body of a GET or HEAD over, and would read it to its end.
  if (!request.body) response.headers.set("connection", "close");
  // What succeeded has read its body. A reader that was not let go has read it to its end.
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
      await throwAway(rest, request.signal, clock);
      sink.close();
    },
  });
  return new Response(body, { status, headers });
}

/** Until it ends, was enough, took too long or nobody sends it any more. */
async function throwAway(rest: UnreadRest, signal: AbortSignal, clock: Clock): Promise<void> {
  const over = Promise.withResolvers<null>();
  const end = () => over.resolve(null);
  const beganAt = clock.monotonic();
  let length = 0;
  const look = (before: number) => {
    const isLate = clock.monotonic() - beganAt >= UNREAD_MS_MAX;
    if (isLate || length === before) return end();
    cancel = clock.after(SILENT_MS_MAX, () => look(length));
  };
  let cancel = clock.after(SILENT_MS_MAX, () => look(0));
  signal.addEventListener("abort", end, { once: true });
  try {
    while (length < UNREAD_BYTES_MAX) {
      const piece = (await Promise.race([rest.read(), over.promise]))?.value;
      if (!piece) break;
      length += piece.length;
    }
  } catch {
    // The connection is gone: there is nobody to close it behind.
  }
  cancel();
  signal.removeEventListener("abort", end);
  void rest.cancel().catch(() => {});
}
