// A raw client: writes bytes unchanged and reads replies from the same connection.
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { ManualClock } from "../support/clock.ts";

export interface RawReply {
  status: number;
  /** Names in lower case; the last of equal ones. */
  headers: Record<string, string>;
  body: string;
}

export interface RawClient {
  /** Text is sent byte by byte (Latin-1). */
  write(text: string): void;
  /** The next whole reply, or `null` when the connection ended without one. */
  read(): Promise<RawReply | null>;
  /** Resolves with the first byte of a reply, or with the end of the connection. */
  begun: Promise<void>;
  /** Resolves when the server has ended the connection. */
  closed: Promise<void>;
  /** Resets the connection. */
  leave(): void;
  /** Received bytes that were not read as a reply. */
  rest(): string;
  socket: Socket;
}

/** `method` is that of the requests: a reply to HEAD has no body, whatever its length. */
export async function openRaw(url: string, method = "GET"): Promise<RawClient> {
  const { protocol, hostname, port } = new URL(url);
  const isSecure = protocol === "https:";
  // Tests have certificates of their own.
  const socket = isSecure
    ? connectTls({ host: hostname, port: Number(port), rejectUnauthorized: false })
    : connect(Number(port), hostname);
  const ended = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  let received = "";
  let isEnded = false;
  let wake = () => {};
  socket.on("data", (bytes) => {
    received += bytes.toString("latin1");
    begun.resolve();
    wake();
  });
  // A reset is an end like any other.
  socket.on("error", () => {});
  socket.on("close", () => {
    isEnded = true;
    begun.resolve();
    ended.resolve();
    wake();
  });
  await new Promise<void>((resolve, reject) => {
    socket.once(isSecure ? "secureConnect" : "connect", resolve);
    socket.once("error", reject);
  });

  return {
    socket,
    begun: begun.promise,
    closed: ended.promise,
    rest: () => received,
    write: (text) => void socket.write(Buffer.from(text, "latin1")),
    leave: () => void socket.destroy(),
    async read() {
      for (;;) {
        const found = takeReply(received, method);
        if (found) {
          received = received.slice(found.end);
          if (found.reply.status >= 200) return found.reply;
        } else if (isEnded) return null;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}

/** One request on its own connection; `null` if it was closed without a reply. */
export async function sendRaw(url: string, text: string): Promise<RawReply | null> {
  const client = await openRaw(url, text.split(" ", 1)[0]);
  client.write(text);
  const reply = await client.read();
  client.leave();
  return reply;
}

/**
 * Writes a request with an endless body, and reads its reply: it comes at once, and ends when the
 * server has waited long enough for the rest of the body.
 */
export async function sendUnended(
  { url, clock }: { url: string; clock: ManualClock },
  ...texts: string[]
): Promise<RawReply | null> {
  const client = await openRaw(url);
  for (const text of texts) client.write(text);
  let isOver = false;
  const reply = client.read().finally(() => {
    isOver = true;
  });
  await client.begun;
  while (!isOver) await clock.advance(1_000);
  client.leave();
  return reply;
}

function takeReply(text: string, method: string): { reply: RawReply; end: number } | null {
  const head_end = text.indexOf("\r\n\r\n");
  if (head_end === -1) return null;
  const [line, ...lines] = text.slice(0, head_end).split("\r\n");
  const headers = Object.fromEntries(
    lines.map((one) => [
      one.slice(0, one.indexOf(":")).toLowerCase(),
      one.slice(one.indexOf(":") + 1).trim(),
    ]),
  );
  const status = Number(line!.split(" ")[1]);
  const start = head_end + 4;
  if (headers["transfer-encoding"] === "chunked") {
    const end = text.indexOf("\r\n0\r\n\r\n", start);
    if (end === -1) return null;
    const body = text.slice(start, end + 2).replace(/[0-9a-f]+\r\n([^\r]*)\r\n/g, "$1");
    return { reply: { status, headers, body }, end: end + 7 };
  }
  const length = method === "HEAD" ? 0 : Number(headers["content-length"] ?? 0);
  if (text.length < start + length) return null;
  const reply = { status, headers, body: text.slice(start, start + length) };
  return { reply, end: start + length };
}
