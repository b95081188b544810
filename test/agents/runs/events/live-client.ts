// A reply whose pieces a test sends, and a client that rebuilds it from the frames of a stream.

import type { LiveRuns } from "../../../../src/agents/runs/events/live.ts";
import { LiveReader } from "../../../../src/agents/runs/events/live-reader.ts";
import type { RunRow } from "../../../../src/agents/runs/run.ts";
import { createMessageCollector } from "../../../../src/gateway/chat/reply.ts";
import type { Chunk } from "../../../../src/models/index.ts";

export interface Frame {
  type: string;
  round: number;
  index: number;
  text?: string;
  tool_call?: { index: number; id?: string; name?: string; arguments: string };
  tool_calls?: { id: string; name: string; arguments: string }[];
}

export const makeRow = (fields: object = {}): RunRow =>
  ({
    ...{ id: "r", usage: { rounds: 0 }, last_seq: 0 },
    ...{ trigger_kind: "manual", started_by_key_id: "k" },
    ...fields,
  }) as RunRow;
export const text = (piece: string): Chunk => ({ kind: "text", text: piece });

/** Begins a reply, whose pieces the test sends. */
export function ask(live: LiveRuns, row = makeRow()) {
  const reply = live.begin(row);
  const collector = createMessageCollector();
  reply.begin(collector.read);
  return {
    reply,
    send(...chunks: Chunk[]) {
      for (const chunk of chunks) {
        void collector.onChunk(chunk);
        reply.onPiece?.(chunk);
      }
    },
    end(isWhole = true) {
      reply.end(isWhole);
      return collector.write();
    },
  };
}

/** A client of one stream, that reads at once unless it has `unread` bytes. */
export function follow(live: LiveRuns, seq = 0, run_id = "r") {
  const client = {
    frames: [] as Frame[],
    unread: 0,
    leave: () => {},
    reader: undefined! as LiveReader,
  };
  const stream = {
    events: { countUnread: () => client.unread },
    pass: (frame: string) => void client.frames.push(JSON.parse(frame.slice("data: ".length))),
  };
  client.reader = new LiveReader(stream, seq);
  const fail = (bug: unknown) => {
    throw bug;
  };
  client.leave = live.follow(run_id, client.reader.guard(fail));
  return client;
}

/** What a client has of a round: a snapshot replaces, a piece is added. */
export function rebuild(frames: readonly Frame[], round = 1) {
  let message: { text: string; calls: string[] } | undefined;
  for (const frame of frames.filter((one) => one.round === round)) {
    if (frame.type === "message.snapshot") {
      const calls = frame.tool_calls!.map((call) => `${call.name}(${call.arguments}`);
      message = { text: frame.text!, calls };
      continue;
    }
    message ??= { text: "", calls: [] };
    message.text += frame.text ?? "";
    const { tool_call } = frame;
    if (!tool_call) continue;
    const before = message.calls[tool_call.index] ?? `${tool_call.name}(`;
    message.calls[tool_call.index] = before + tool_call.arguments;
  }
  return message;
}
export const sum = ({ type, index, text = "" }: Frame) =>
  `${type.slice("message.".length)} ${index} ${text}`;
