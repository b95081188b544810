// Reads a chat-completions stream as it comes, and holds it back while its consumer does.
import type { Exchange, ReplyHead } from "../../../net/index.ts";
import type { BodyReader } from "../body.ts";
import type { Completion, UpstreamError } from "../contract.ts";
import { StreamAssembler } from "./assembler.ts";
import { invalidReplyError, type TimeoutReason } from "./errors.ts";
import { REPLY_BYTES_MAX, type ReplyContext, takeEvent } from "./reply.ts";

export interface StreamContext extends ReplyContext {
  exchange: Exchange;
  settle(completion: Completion | Promise<Completion>): void;
  /** Resolves, and reads the rest of the reply so that its connection can be reused. */
  finish(completion: Completion): void;
  /** Receives what `onChunk` throws: a bug. */
  fail(bug: unknown): void;
}

export class StreamReader implements BodyReader {
  readonly #context: StreamContext;
  readonly #assembler: StreamAssembler;
  readonly #parser = new SseParser();
  #events: string[] = [];
  #length = 0;
  #isHeld = false;
  #hasEnded = false;
  #isSettled = false;

  constructor(head: ReplyHead, context: StreamContext) {
    this.#context = context;
    this.#assembler = new StreamAssembler(context.request, context.onChunk, context.ids);
    // We ask for plain replies, and no server packs single events.
    const encoding = head.header("content-encoding") || "identity";
    if (encoding !== "identity") this.#settle(invalidReplyError("its stream is packed"));
  }

  take(bytes: Buffer): void {
    this.#length += bytes.length;
    if (this.#length <= REPLY_BYTES_MAX) this.#add(this.#parser.push(bytes));
    else {
      const failure = invalidReplyError("its stream is larger than 16 MB");
      this.#settle(this.#assembler.breakOff(failure));
    }
  }

  end(): void {
    this.#hasEnded = true;
    this.#add(this.#parser.end());
  }

  breakOff(failure: UpstreamError, cut: TimeoutReason | null): Completion {
    this.#isSettled = true;
    return cut === "left" ? this.#assembler.breakOff(failure) : this.#endWith(failure);
  }

  #add(events: string[]): void {
    this.#events = this.#events.length > 0 ? this.#events.concat(events) : events;
    if (!this.#isHeld) this.#takeEvents();
  }

  #takeEvents(): void {
    const assembler = this.#assembler;
    const events = this.#events;
    this.#events = [];
    for (let at = 0; at < events.length; at += 1) {
      const taken = takeEvent(events[at]!, assembler, this.#context);
      if (!taken) continue;
      this.#events = events.slice(at + 1);
      if (taken instanceof Promise) this.#hold(taken);
      else this.#settle(this.#endWith(taken));
      return;
    }
    if (this.#hasEnded) this.#settle(assembler.end());
    else if (assembler.isDone) this.#context.finish(assembler.end());
  }

  #hold(held: Promise<void>): void {
    const { timeouts, stall_timeout_ms, exchange, fail } = this.#context;
    this.#isHeld = true;
    timeouts.hold(stall_timeout_ms);
    exchange.pause();
    held.then(() => this.#release()).catch(fail);
  }

  #release(): void {
    if (this.#isSettled) return;
    this.#isHeld = false;
    this.#context.timeouts.release();
    this.#context.exchange.resume();
    this.#takeEvents();
  }

  #settle(completion: Completion): void {
    this.#isSettled = true;
    this.#context.settle(completion);
  }

  /** A failure behind the end leaves the completion whole. */
  #endWith(failure: UpstreamError): Completion {
    return this.#assembler.isOver ? this.#assembler.end() : this.#assembler.breakOff(failure);
  }
}

/** Parses server-sent events as model servers write them: any line end, no last blank line. */
export class SseParser {
  readonly #decoder = new TextDecoder();
  readonly #lineEnd = /\r\n?|\n/g;
  #line = "";
  #data: string | null = null;
  /** The last text ended with \r, which may be half of \r\n. */
  #isHalved = false;

  push(bytes: Uint8Array): string[] {
    return this.#takeText(this.#decoder.decode(bytes, { stream: true }));
  }

  /** Completes the last event: some servers send no blank line behind it. */
  end(): string[] {
    return this.#takeText(`${this.#decoder.decode()}\n\n`);
  }

  #takeText(text: string): string[] {
    const events: string[] = [];
    if (text === "") return events;
    let from = this.#isHalved && text[0] === "\n" ? 1 : 0;
    this.#isHalved = text.endsWith("\r");
    // Most servers write \n alone, which is found at half the cost.
    if (!text.includes("\r")) {
      for (let end = text.indexOf("\n", from); end !== -1; end = text.indexOf("\n", from)) {
        this.#takeLine(this.#line + text.slice(from, end), events);
        this.#line = "";
        from = end + 1;
      }
    }
    const lineEnd = this.#lineEnd;
    lineEnd.lastIndex = from;
    for (let end = lineEnd.exec(text); end; end = lineEnd.exec(text)) {
      this.#takeLine(this.#line + text.slice(from, end.index), events);
      this.#line = "";
      from = lineEnd.lastIndex;
    }
    this.#line += text.slice(from);
    return events;
  }

  #takeLine(line: string, events: string[]): void {
    if (line === "") {
      if (this.#data) events.push(this.#data);
      this.#data = null;
      return;
    }
    // llama.cpp before autumn 2025 sends errors in this field, and then a normal [DONE].
    if (line.startsWith("error:")) events.push(`{"error":${line.slice(6)}}`);
    if (!line.startsWith("data")) return;
    if (line.length > 4 && line[4] !== ":") return;
    const value = line.slice(line[5] === " " ? 6 : 5);
    this.#data = this.#data === null ? value : `${this.#data}\n${value}`;
  }
}
