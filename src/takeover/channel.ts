// Requests and replies in both directions over one local connection, as lines of JSON.

import type { Socket } from "node:net";
import { type Clock, settlesWithin } from "../platform/clock.ts";
import { parseJson } from "../platform/json.ts";
import { TakeoverRefused } from "./errors.ts";

/** The connection has ended before the reply. */
export class ChannelClosed extends Error {
  constructor() {
    super("the other process has closed the control connection");
  }
}

export type AnswerChannel = (
  method: string,
  params: Record<string, unknown>,
  channel: Channel,
) => Promise<unknown>;

interface ChannelMessage {
  id: number;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  refusal?: string;
}

/** Maximum time of an answer that a process gives at once, unless it hangs. */
const ANSWER_MS_MAX = 10_000;

export class Channel {
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #answer: AnswerChannel;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #received = "";
  #lastId = 0;
  #isClosed = false;

  constructor(socket: Socket, answer: AnswerChannel) {
    this.#socket = socket;
    this.#answer = answer;
    const closed = Promise.withResolvers<void>();
    this.closed = closed.promise;
    socket.setEncoding("utf8");
    socket.on("data", (text) => this.#read(String(text)));
    // A reset is an end like any other.
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#isClosed = true;
      for (const { reject } of this.#waiting.values()) reject(new ChannelClosed());
      this.#waiting.clear();
      closed.resolve();
    });
  }

  /** Throws the other side's sentence, or a ChannelClosed. */
  async request<T>(method: string, params: Record<string, unknown> = {}): Promise<T> {
    if (this.#isClosed) throw new ChannelClosed();
    const reply = Promise.withResolvers<unknown>();
    this.#lastId += 1;
    this.#waiting.set(this.#lastId, reply);
    this.#send({ id: this.#lastId, method, params });
    return reply.promise as Promise<T>;
  }

  /** Requests what is answered at once; throws for a process that hangs. */
  async requestSoon<T>(clock: Clock, method: string, params: Record<string, unknown> = {}) {
    const reply = this.request<T>(method, params);
    await this.#requireSoon(clock, reply);
    return reply;
  }

  /** Throws for a process that hangs; a refusal, which older versions give, is an answer. */
  async requireAnswer(clock: Clock): Promise<void> {
    await this.#requireSoon(clock, this.request("ping"));
  }

  /** Throws where the other side has gone, which a request alone does not show. */
  async requirePresence(): Promise<void> {
    await this.request("present");
  }

  close(): void {
    this.#socket.destroy();
  }

  async #requireSoon(clock: Clock, reply: Promise<unknown>): Promise<void> {
    const settled = reply.then(
      () => {},
      () => {},
    );
    if (await settlesWithin(clock, ANSWER_MS_MAX, settled)) return;
    // A process that wakes up later does nothing for a channel that has ended.
    this.close();
    throw new TakeoverRefused("the running server does not answer: restart it");
  }

  #send(message: ChannelMessage): void {
    if (!this.#isClosed) this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  #read(text: string): void {
    const lines = (this.#received + text).split("\n");
    this.#received = lines.pop()!;
    for (const line of lines) {
      const message = parseJson(line) as ChannelMessage | undefined;
      if (message?.method === undefined) this.#settle(message);
      else void this.#reply(message.id, message.method, message.params ?? {});
    }
  }

  #settle(message: ChannelMessage | undefined): void {
    const waiting = message && this.#waiting.get(message.id);
    if (!message || !waiting) return;
    this.#waiting.delete(message.id);
    if (message.refusal === undefined) waiting.resolve(message.result);
    else waiting.reject(new TakeoverRefused(message.refusal));
  }

  async #reply(id: number, method: string, params: Record<string, unknown>): Promise<void> {
    try {
      this.#send({ id, result: (await this.#answer(method, params, this)) ?? null });
    } catch (failure) {
      this.#send({ id, refusal: failure instanceof Error ? failure.message : String(failure) });
    }
  }
}
