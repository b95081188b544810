// One caller: a keep-alive connection with one request after the other, each reply checked.
import type { Socket } from "bun";
import { createReplyReader, type Expected } from "./reply-reader.ts";

export interface Asking extends Expected {
  port: number;
  /** The next request, head and body. */
  write(): string;
  /** After how many pieces of its reply the caller hangs up; Infinity: it stays to the end. */
  leaveAfter(): number;
  /** The first piece of text of a reply has come. */
  onFirst(): void;
  /** Bytes of a reply have come, this many milliseconds after its bytes before. */
  onGap?(ms: number): void;
  /** A reply is over, whole or left; returns whether to go on. */
  onReply(pieces: number, isWhole: boolean): boolean;
}

/**
 * Sends requests until `onReply` returns false; resolves with the complaint that ended it early, if
 * any.
 */
export const runCaller = async (asking: Asking): Promise<string | undefined> => {
  let outcome: Outcome;
  do outcome = await connect(asking);
  while (outcome === "left");
  return outcome === "over" ? undefined : outcome.complaint;
};

/** Reason that a connection ended: closed for a new one, all requests sent, or an error. */
type Outcome = "left" | "over" | { complaint: string };

const connect = async (asking: Asking): Promise<Outcome> => {
  const ended = Promise.withResolvers<Outcome>();
  const reader = createReplyReader(asking);
  let seen = 0;
  let heard_at = 0;
  let leave_after = asking.leaveAfter();
  const classify = (isWhole: boolean): Outcome | undefined => {
    if (reader.complaint) return { complaint: reader.complaint };
    if (!asking.onReply(reader.pieces, isWhole)) return "over";
    return isWhole ? undefined : "left";
  };
  // The end of a long request that the socket did not take yet.
  let unsent = "";
  const send = (socket: Socket, text: string) => {
    // One character is one byte.
    unsent = text.slice(Math.max(0, socket.write(text)));
  };
  const opening = Bun.connect({
    hostname: "127.0.0.1",
    port: asking.port,
    socket: {
      open(socket) {
        socket.setNoDelay(true);
        send(socket, asking.write());
      },
      drain: (socket) => send(socket, unsent),
      data(socket, bytes) {
        const isWhole = reader.push(bytes);
        if (asking.onGap) {
          const now = performance.now();
          if (seen > 0) asking.onGap(now - heard_at);
          heard_at = now;
        }
        if (seen === 0 && reader.pieces > 0) asking.onFirst();
        seen = isWhole ? 0 : reader.pieces;
        if (!isWhole && seen < leave_after) return;
        const outcome = classify(isWhole);
        if (outcome) {
          ended.resolve(outcome);
          socket.terminate();
          return;
        }
        leave_after = asking.leaveAfter();
        send(socket, asking.write());
      },
      close: () => ended.resolve({ complaint: "the connection was closed" }),
    },
  });
  opening.catch((failure: unknown) => ended.resolve({ complaint: String(failure) }));
  return ended.promise;
};
