// A socket proxy in front of a model server, which injects faults of networks and servers.
import type { Socket } from "bun";
import { listenApart } from "./ports.ts";

export interface Connection {
  requests: number;
  sent_bytes: number;
  /** Settles when the gateway closes or resets it. */
  closed: Promise<void>;
}

export interface Link {
  /** Head and body; empty while the connection is only open. */
  request: string;
  connection: Connection;
  /** Sends bytes; settles when the system took them, or the connection is closed. */
  say(bytes: string | Uint8Array): Promise<void>;
  /** Lets the gateway run, so that the next bytes arrive separately. */
  turn(): Promise<void>;
  /** Ends the reply (FIN). */
  end(): void;
  /** Breaks the connection (RST). */
  reset(): void;
  pass(): Promise<void>;
}

export type Fault = (link: Link) => unknown;

export interface FaultProxy {
  url: string;
  port: number;
  connections: Connection[];
  /** Fault of the next requests; null forwards them. */
  fault: Fault | null;
  greeting: Fault | null;
  /** Stops listening, and closes open connections. */
  refuse(): void;
  restore(): void;
  stop(): void;
}

interface State extends Connection {
  buffered: Buffer;
  onward: Promise<Socket> | null;
  isOpen: boolean;
  settle(): void;
  resume(): void;
}

const encoder = new TextEncoder();

export function startFaultProxy(upstream_url: string): FaultProxy {
  const listen = (port: number) =>
    Bun.listen<State>({
      hostname: "127.0.0.1",
      port,
      socket: {
        open(socket) {
          socket.data = createState();
          proxy.connections.push(socket.data);
          socket.setNoDelay(true);
          if (proxy.greeting) run(proxy.greeting, createLink(socket, "", upstream_url));
        },
        data(socket, bytes) {
          const { data } = socket;
          data.buffered = Buffer.concat([data.buffered, bytes]);
          for (let request = takeRequest(data); request !== null; request = takeRequest(data)) {
            data.requests += 1;
            const fault = proxy.fault ?? ((link: Link) => link.pass());
            run(fault, createLink(socket, request, upstream_url));
          }
        },
        drain: ({ data }) => data.resume(),
        close({ data }) {
          data.isOpen = false;
          data.onward?.then((onward) => onward.terminate());
          data.resume();
          data.settle();
        },
      },
    });
  let listener = listenApart(listen);
  const { port } = listener;
  const proxy: FaultProxy = {
    url: `http://127.0.0.1:${port}/v1`,
    port,
    connections: [],
    fault: null,
    greeting: null,
    refuse: () => listener.stop(true),
    restore() {
      listener = listen(port);
    },
    stop: () => listener.stop(true),
  };
  return proxy;
}

/** A bug of the test must not look like a network fault. */
function run(fault: Fault, link: Link): void {
  Promise.resolve(fault(link)).catch((error) => {
    queueMicrotask(() => {
      throw error;
    });
  });
}

function createState(): State {
  const { promise, resolve } = Promise.withResolvers<void>();
  return {
    requests: 0,
    sent_bytes: 0,
    closed: promise,
    buffered: Buffer.alloc(0),
    onward: null,
    isOpen: true,
    settle: resolve,
    resume: () => undefined,
  };
}

function createLink(socket: Socket<State>, request: string, upstream_url: string): Link {
  const { data } = socket;
  const say = async (bytes: string | Uint8Array) => {
    let rest = typeof bytes === "string" ? encoder.encode(bytes) : bytes;
    while (data.isOpen && rest.length > 0) {
      const taken = Math.max(0, socket.write(rest));
      data.sent_bytes += taken;
      rest = rest.subarray(taken);
      if (rest.length === 0) break;
      const { promise, resolve } = Promise.withResolvers<void>();
      data.resume = resolve;
      await promise;
    }
  };
  return {
    request,
    connection: data,
    say,
    turn: () => new Promise((resolve) => setImmediate(resolve)),
    end: () => void socket.shutdown(),
    reset: () => void socket.terminate(),
    async pass() {
      data.onward ??= connectOnward(upstream_url, say, () => socket.end());
      (await data.onward).write(request);
    },
  };
}

function connectOnward(url: string, say: (bytes: Uint8Array) => unknown, end: () => unknown) {
  const { hostname, port } = new URL(url);
  return Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data: (_, bytes) => void say(new Uint8Array(bytes)),
      close: () => void end(),
    },
  });
}

function takeRequest(data: State): string | null {
  const head_end = data.buffered.indexOf("\r\n\r\n");
  if (head_end === -1) return null;
  const head = data.buffered.toString("latin1", 0, head_end);
  const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
  const end = head_end + 4 + length;
  if (data.buffered.length < end) return null;
  const request = data.buffered.toString("utf8", 0, end);
  data.buffered = data.buffered.subarray(end);
  return request;
}

export function sayAndEnd(...pieces: (string | Uint8Array)[]): Fault {
  return async (link) => {
    await sayAndStay(...pieces)(link);
    link.end();
  };
}

/** Sends the bytes, and resets the connection once they can have been read. */
export function sayAndReset(text: string): Fault {
  return async (link) => {
    await sayAndStay(text)(link);
    link.reset();
  };
}

export function sayAndStay(...pieces: (string | Uint8Array)[]): Fault {
  return async (link) => {
    for (const piece of pieces) {
      await link.say(piece);
      await link.turn();
    }
  };
}

/** A reply with its length; `fields` are its first header lines. */
export function writeReply(body: string, status = "200 OK", fields: string[] = []): string {
  const length = encoder.encode(body).length;
  const head = ["content-type: application/json", ...fields, `content-length: ${length}`];
  return `${writeHead(status, head)}${body}`;
}

export function writeHead(status: string, fields: readonly string[]): string {
  return [`HTTP/1.1 ${status}`, ...fields, "", ""].join("\r\n");
}

export const STREAM_HEAD = writeHead("200 OK", [
  "content-type: text/event-stream",
  "transfer-encoding: chunked",
]);

export function writeChunk(text: string): string {
  return `${encoder.encode(text).length.toString(16)}\r\n${text}\r\n`;
}

export const LAST_CHUNK = "0\r\n\r\n";

export function writeStreamReply(...frames: string[]): string {
  return STREAM_HEAD + frames.map(writeChunk).join("") + LAST_CHUNK;
}
