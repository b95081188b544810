// The chunks of a chat stream as JSON text.
import type { Chunk, TokenUsage } from "../../models/index.ts";

export type ChunkWriter = ReturnType<typeof createChunkWriter>;

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
  const halves = createHalves();
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

/** Index of the text; calls count from 0. */
const TEXT = -1;

/**
 * Some servers cut inside a surrogate pair: the first half waits for the second. Strict clients
 * refuse half a pair.
 */
function createHalves() {
  const waiting = new Map<number, string>();
  return {
    join(index: number, text: string): string {
      const whole = (waiting.get(index) ?? "") + text;
      waiting.delete(index);
      const last = whole.charCodeAt(whole.length - 1);
      const isHalf = last >= 0xd800 && last <= 0xdbff;
      if (!isHalf) return whole.toWellFormed();
      waiting.set(index, whole.slice(-1));
      return whole.slice(0, -1).toWellFormed();
    },
    listLeft: () => [...waiting.keys()],
  };
}

/** Clients that join pieces break if the identity is repeated. */
function writeCallPiece({ index, id, name, arguments: text }: Extract<Chunk, { kind: "call" }>) {
  if (id === undefined) return { index, function: { arguments: text } };
  return { index, id, type: "function", function: { name, arguments: text } };
}
