// The chunks of a chat stream as JSON text.
import { writeErrorFrame, writeFrame } from "../../http/index.ts";
import type { Chunk, TokenUsage } from "../../models/index.ts";
import { Halves, TEXT } from "./halves.ts";
import type { StreamWriter } from "./stream.ts";

/** gateway.events.1 */
const DONE = writeFrame("[DONE]");

/** Writes a stream of chunks; `hasUsage`: the last one carries the usage. */
export function createChatWriter(
  chunks: ReturnType<typeof createChunkWriter>,
  hasUsage: boolean,
): StreamWriter {
  return {
    begin: () => "",
    piece: (chunk) => writeFrame(chunks.piece(chunk)),
    keepAlive: () => ": keep-alive\n\n",
    finish({ finishReason, usage }) {
      const texts = chunks.finish(finishReason);
      if (hasUsage) texts.push(chunks.usage(usage));
      return texts.map(writeFrame).join("") + DONE;
    },
    fail: ({ code, message, details }, request_id) =>
      writeFrame(writeErrorFrame(code, message, request_id, details.param)) + DONE,
  };
}

/**
 * Writes the chunks of one stream (gateway.resources.chunk.p1). Popular clients insist on the role
 * in the first delta.
 */
export function createChunkWriter(id: string, created: number, model: string) {
  // Only the delta differs between chunks.
  const head =
    `{"id":${JSON.stringify(id)},"object":"chat.completion.chunk","created":${created},` +
    `"model":${JSON.stringify(model)},"choices":[`;
  let role = '"role":"assistant",';
  const bare = new Set<number>();
  const halves = new Halves();
  const write = (delta: string) => {
    const text = `${head}{"index":0,"delta":{${role}${delta}},"finish_reason":null}]}`;
    role = "";
    return text;
  };
  return {
    piece(piece: Chunk): string {
      if (piece.kind === "text") {
        return write(`"content":${JSON.stringify(halves.join(TEXT, piece.text))}`);
      }
      if (piece.arguments !== "") bare.delete(piece.index);
      else if (piece.id !== undefined) bare.add(piece.index);
      // gateway.resources.chunk.p2: clients lose all but the first call of a chunk.
      const text = halves.join(piece.index, piece.arguments);
      const shown = writeCallPiece({ ...piece, arguments: text });
      return write(`"tool_calls":[${JSON.stringify(shown)}]`);
    },
    /** Writes the last chunk, after a missing role or missing arguments of calls. */
    finish(reason: string): string[] {
      // gateway.events.5: the delta of the last chunk is empty.
      const before = role === "" ? [] : [write('"content":""')];
      for (const index of halves.listLeft()) {
        const call = `"tool_calls":[{"index":${index},"function":{"arguments":"\ufffd"}}]`;
        before.push(write(index === TEXT ? '"content":"\ufffd"' : call));
      }
      // gateway.resources.tool_call.p1: empty arguments become JSON text.
      for (const index of bare) {
        before.push(write(`"tool_calls":[{"index":${index},"function":{"arguments":"{}"}}]`));
      }
      const finish_reason = JSON.stringify(reason);
      return [...before, `${head}{"index":0,"delta":{},"finish_reason":${finish_reason}}]}`];
    },
    // gateway.events.3
    usage: (usage: TokenUsage) => `${head}],"usage":${JSON.stringify(usage)}}`,
  };
}

/** Clients that join pieces break if the identity is repeated. */
function writeCallPiece({ index, id, name, arguments: text }: Extract<Chunk, { kind: "call" }>) {
  if (id === undefined) return { index, function: { arguments: text } };
  return { index, id, type: "function", function: { name, arguments: text } };
}
