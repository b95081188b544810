// A client whose connections the proof controls: kept until the server closes them, or used once.
import { connect, type Socket } from "node:net";

export interface RawAnswer {
  status: number;
  body: string;
  isLast: boolean;
}

/** Sends requests one after the other; rejects when a connection fails or ends without a reply. */
export class RawCaller {
  readonly #port: number;
  readonly #key: string;
  readonly #isKept: boolean;
  #socket: Socket | null = null;
  #received = "";
  #wake = () => {};
  #hasEnded = false;
  #requests = 0;
  #localPort: number | undefined;
  #failure: NodeJS.ErrnoException | null = null;

  constructor(port: number, key: string, isKept: boolean) {
    this.#port = port;
    this.#key = key;
    this.#isKept = isKept;
  }

  async post(path: string, value: unknown): Promise<RawAnswer> {
    const socket = this.#socket ?? (await this.#connect());
    this.#requests += 1;
    const body = JSON.stringify(value);
    const lines = [
      `POST ${path} HTTP/1.1`,
      "Host: localhost",
      `Authorization: Bearer ${this.#key}`,
      "Content-Type: application/json",
      `Content-Length: ${Buffer.byteLength(body)}`,
      ...(this.#isKept ? [] : ["Connection: close"]),
    ];
    socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
    const answer = await this.#read();
    if (answer.isLast || !this.#isKept) this.close();
    return answer;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }

  async #connect(): Promise<Socket> {
    const socket = connect(this.#port, "127.0.0.1");
    this.#received = "";
    this.#hasEnded = false;
    this.#requests = 0;
    this.#localPort = undefined;
    this.#failure = null;
    socket.on("data", (bytes) => {
      this.#received += bytes.toString("latin1");
      this.#wake();
    });
    socket.on("close", () => {
      if (this.#socket !== socket) return;
      this.#hasEnded = true;
      this.#wake();
    });
    this.#socket = socket;
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.on("error", (failure) => {
        this.#failure = failure;
        reject(this.#explain());
      });
    });
    this.#localPort = socket.localPort;
    return socket;
  }

  /** Tells a connection that was refused, or for which no port is left, from one that was reset. */
  #explain(): Error {
    const { code = "end", syscall = "read" } = this.#failure ?? {};
    const from = `port ${this.#localPort}, request ${this.#requests} of its connection`;
    return new Error(`${code} of ${syscall}: ${from}, ${this.#received.length} bytes received`);
  }

  async #read(): Promise<RawAnswer> {
    for (;;) {
      const end = this.#received.indexOf("\r\n\r\n");
      const head = this.#received.slice(0, Math.max(0, end)).toLowerCase();
      const length = Number(/^content-length: (\d+)/m.exec(head)?.[1]);
      if (end >= 0 && this.#received.length >= end + 4 + length) {
        const body = this.#received.slice(end + 4, end + 4 + length);
        this.#received = this.#received.slice(end + 4 + length);
        const isLast = /^connection: close/m.test(head);
        return { status: Number(head.slice(9, 12)), body, isLast };
      }
      if (this.#hasEnded) {
        this.#socket = null;
        throw this.#explain();
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
