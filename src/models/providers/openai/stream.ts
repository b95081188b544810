// Reads a chat-completions server's stream as it comes, and holds it back when its ear does.
import type { Exchange, ReplyHead } from "../../../net/index.ts";
import type { BodyReader } from "../body.ts";
import type { Completion, UpstreamError } from "../contract.ts";
import { createSseParser } from "../sse-parser.ts";
import { createStreamAssembler } from "../stream-assembler.ts";
import { invalidReplyError } from "./errors.ts";
import { REPLY_BYTES_MAX, type ReplyAssembly, takeEvent } from "./reply.ts";

export interface StreamReading extends ReplyAssembly {
  exchange: Exchange;
  settle(ending: Completion | Promise<Completion>): void;
  /** The answer is whole; what is left of the reply is read, so that its connection is kept. */
  finish(ending: Completion): void;
  /** What an ear threw: a bug. */
  fail(bug: unknown): void;
}

/** A stream is never packed: we ask for plain replies, and nothing packs a piece by itself. */
export function createStreamReader(head: ReplyHead, reading: StreamReading): BodyReader {
  const { request: ask, onChunk, ids, watch, exchange, fail } = reading;
  const collector = createStreamAssembler(ask, onChunk, ids);
  const frames = createSseParser();
  /** Those that the ear has not heard yet. */
  let events: string[] = [];
  let length = 0;
  let isHeld = false;
  let hasEnded = false;
  let isOver = false;

  const settle = (ending: Completion) => {
    isOver = true;
    reading.settle(ending);
  };
  /** Once an end was told the answer is whole, whatever broke behind it. */
  const endWith = (failure: UpstreamError) =>
    collector.isOver ? collector.end() : collector.breakOff(failure);
  const encoding = head.header("content-encoding") || "identity";
  if (encoding !== "identity") settle(invalidReplyError("its stream is packed"));
  const tell = () => {
    const told = events;
    events = [];
    for (let at = 0; at < told.length; at += 1) {
      const taken = takeEvent(told[at]!, collector, reading);
      if (!taken) continue;
      if (!(taken instanceof Promise)) return settle(endWith(taken));
      events = told.slice(at + 1);
      return hold(taken);
    }
    if (hasEnded) settle(collector.end());
    else if (collector.isDone) reading.finish(collector.end());
  };
  const hold = (held: Promise<void>) => {
    isHeld = true;
    watch.hold(reading.stall_timeout_ms);
    exchange.pause();
    held.then(goOn).catch(fail);
  };
  const goOn = () => {
    if (isOver) return;
    isHeld = false;
    watch.release();
    exchange.resume();
    tell();
  };
  const add = (more: string[]) => {
    events = events.length > 0 ? events.concat(more) : more;
    if (!isHeld) tell();
  };
  return {
    take(bytes) {
      length += bytes.length;
      if (length > REPLY_BYTES_MAX)
        settle(collector.breakOff(invalidReplyError("its stream is larger than 16 MB")));
      else add(frames.push(bytes));
    },
    end() {
      hasEnded = true;
      add(frames.end());
    },
    breakOff(why, cut) {
      isOver = true;
      return cut === "left" ? collector.breakOff(why) : endWith(why);
    },
  };
}
