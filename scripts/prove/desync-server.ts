// A model server that sends more than one reply to a request: at once, later, in parts, or with the
// next reply.
import type { Socket } from "bun";

/**
 * `double`: two replies in one write · `split`: the second begins with the first and ends later ·
 * `surplus`: it follows at once · `late`: it precedes the next reply · `echo`: as `late`, from a
 * server that echoes ids.
 */
export const FAULTS = ["double", "split", "surplus", "late", "echo"] as const;
export type Fault = (typeof FAULTS)[number];

export interface DesyncServer {
  fault: Fault;
  port: number;
  /** Replies without a request. */
  surplus: number;
  /** Surplus replies that were received as the reply to another request. */
  inTurn: number;
  connections: number;
  stop(): void;
}

interface State {
  buffered: string;
  /** The bytes that precede the next reply. */
  held: string | null;
}

/** The share of replies that are followed by one too many. */
const FAULTY = 0.08;
const SPLIT_MS = 3;

/** Approximate duration of every reply. */
export const startDesyncServer = (fault: Fault, reply_ms: number): DesyncServer => {
  const say = (socket: Socket<State>, text: string) => {
    socket.write(text);
    socket.flush();
  };
  const answer = async (socket: Socket<State>, request: string) => {
    const reply = writeReply(request, fault === "echo");
    const { held } = socket.data;
    socket.data.held = null;
    if (held !== null) {
      server.inTurn++;
      say(socket, held);
    }
    await Bun.sleep(reply_ms * (0.8 + 0.4 * Math.random()));
    const isFaulty = Math.random() < FAULTY;
    if (isFaulty) server.surplus++;
    if (!isFaulty) return say(socket, reply);
    if (fault === "late" || fault === "echo") {
      socket.data.held = reply;
      return say(socket, reply);
    }
    if (fault === "double") return say(socket, reply + reply);
    const at = fault === "split" ? 1 + Math.floor(Math.random() * (reply.length - 1)) : 0;
    say(socket, reply + reply.slice(0, at));
    await Bun.sleep(SPLIT_MS * Math.random());
    say(socket, reply.slice(at));
  };
  const listener = Bun.listen<State>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        server.connections++;
        socket.data = { buffered: "", held: null };
        socket.setNoDelay(true);
      },
      data(socket, bytes) {
        socket.data.buffered += bytes.toString();
        const { buffered } = socket.data;
        const head_end = buffered.indexOf("\r\n\r\n");
        const length = Number(/^content-length: (\d+)/im.exec(buffered)?.[1] ?? 0);
        if (head_end === -1 || buffered.length < head_end + 4 + length) return;
        socket.data.buffered = "";
        void answer(socket, buffered);
      },
    },
  });
  const server: DesyncServer = {
    ...{ fault: fault, port: listener.port, surplus: 0, inTurn: 0, connections: 0 },
    stop: () => listener.stop(true),
  };
  return server;
};

/** Replies with the request's text, as JSON or as a stream. */
const writeReply = (request: string, echoes: boolean): string => {
  const { messages, stream } = JSON.parse(request.slice(request.indexOf("\r\n\r\n")));
  const content = messages.at(-1).content as string;
  const id = /^x-request-id: (.+)\r$/im.exec(request)?.[1];
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const choice = { index: 0, finish_reason: "stop" };
  const head = (type: string, length: string) =>
    `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\n${echoes ? `x-request-id: ${id}\r\n` : ""}${length}\r\n\r\n`;
  if (!stream) {
    const body = JSON.stringify({ choices: [{ ...choice, message: { content } }], usage });
    return head("application/json", `content-length: ${body.length}`) + body;
  }
  const chunk = JSON.stringify({ choices: [{ ...choice, delta: { content } }], usage });
  const body = `data: ${chunk}\n\ndata: [DONE]\n\n`;
  const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  return head("text/event-stream", "transfer-encoding: chunked") + chunks;
};
