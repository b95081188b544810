// A proxy of bare sockets in front of a model server, which does to a reply whatever networks and servers do.
import type { Socket } from "bun";
import { listenApart } from "./ports.ts";

/** One connection of the gateway's, seen from the other end. */
export interface Connection {
  /** How many whole requests came over it. */
  requests: number;
  /** How many bytes of replies the system has taken for it. */
  sent_bytes: number;
  /** Settles when the gateway has closed it, or when it was reset. */
  closed: Promise<void>;
}

/** What a fault works with: one request, and the connection that it came over. */
export interface Link {
  /** Head and body; empty while the connection is only open. */
  request: string;
  connection: Connection;
  /** Sends bytes; settles when the system has them all, or the connection is closed. */
  say(bytes: string | Uint8Array): Promise<void>;
  /** Lets the gateway run, so that what is sent next comes apart from what was sent before. */
  turn(): Promise<void>;
  /** Says that nothing more comes, properly (FIN). */
  end(): void;
  /** Breaks the connection (RST). */
  reset(): void;
  /** Hands the request on to the model server, and whatever it answers back. */
  pass(): Promise<void>;
}

export type Fault = (link: Link) => unknown;

export interface FaultProxy {
  /** Up to and with `/v1`. */
  url: string;
  port: number;
  connections: Connection[];
  /** What happens to the next requests; null: they are passed on. */
  fault: Fault | null;
  /** What happens to the next connections before a request has come. */
  greeting: Fault | null;
  /** From now on nothing listens here, and what was open is closed. */
  refuse(): void;
  /** Listens again, in the same place. */
  restore(): void;
  stop(): void;
}

interface State extends Connection {
  buffered: Buffer;
  /** The connection to the model server; opened when the first request is passed on. */
  onward: Promise<Socket> | null;
  isOpen: boolean;
  settle(): void;
  /** Goes on with what could not be sent at once. */
  resume(): void;
}

const encoder = new TextEncoder();

/** Stands in front of a model server's URL; the caller stops it. */
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

/** A fault of the test itself must not pass for one of the network's. */
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

/** The next whole request of what has come; null: there is none yet. */
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

/** Sends these one after another and hangs up. */
export function sayAndEnd(...pieces: (string | Uint8Array)[]): Fault {
  return async (link) => {
    await sayAndStay(...pieces)(link);
    link.end();
  };
}

/** Sends this and breaks the connection as soon as it can have been read. */
export function sayAndReset(text: string): Fault {
  return async (link) => {
    await sayAndStay(text)(link);
    link.reset();
  };
}

/** Sends these one after another, and then nothing more. */
export function sayAndStay(...pieces: (string | Uint8Array)[]): Fault {
  return async (link) => {
    for (const piece of pieces) {
      await link.say(piece);
      await link.turn();
    }
  };
}

/** A reply with its length; `fields` are header lines in front of it. */
export function writeReply(body: string, status = "200 OK", fields: string[] = []): string {
  const length = encoder.encode(body).length;
  const head = ["content-type: application/json", ...fields, `content-length: ${length}`];
  return `${writeHead(status, head)}${body}`;
}

export function writeHead(status: string, fields: readonly string[]): string {
  return [`HTTP/1.1 ${status}`, ...fields, "", ""].join("\r\n");
}

/** The head of a stream in chunks. */
export const STREAM_HEAD = writeHead("200 OK", [
  "content-type: text/event-stream",
  "transfer-encoding: chunked",
]);

/** One chunk of a body in chunks. */
export function writeChunk(text: string): string {
  return `${encoder.encode(text).length.toString(16)}\r\n${text}\r\n`;
}

/** The end of a body in chunks. */
export const LAST_CHUNK = "0\r\n\r\n";

/** A whole stream of events, each in a chunk of its own. */
export function writeStreamReply(...frames: string[]): string {
  return STREAM_HEAD + frames.map(writeChunk).join("") + LAST_CHUNK;
}
