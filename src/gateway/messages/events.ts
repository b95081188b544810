// The events of a stream in Anthropic's dialect: one block of content after the other.
import { writeDialectError, writeNamedFrame } from "../../http/index.ts";
import { type Chunk, type CompletionOk, sumTokens } from "../../models/index.ts";
import type { ApiError } from "../../platform/errors.ts";
import { parseJson } from "../../platform/json.ts";
import { Halves, TEXT } from "../chat/halves.ts";
import type { StreamWriter } from "../chat/stream.ts";
import {
  countedUsage,
  describeEnd,
  type MessageEvent,
  openCall,
  openText,
  writeMessage,
} from "./reply.ts";

/** A block whose pieces come. */
interface OpenBlock {
  place: number;
  id: string;
  name: string;
  /** Arguments so far. */
  text: string;
}

const PING = frame({ type: "ping" });

export class MessageEvents implements StreamWriter {
  readonly #names: { id: string; model: string };
  /** Tokens of the prompt, which only the end tells. */
  readonly #estimate: number;
  readonly #halves = new Halves();
  #open: OpenBlock | null = null;
  /** Blocks that began before the open one was whole, in the order of their first pieces. */
  readonly #held = new Map<number, OpenBlock>();
  /** Calls that were whole: nothing but white space can follow. */
  readonly #closed = new Set<number>();
  #index = -1;

  constructor(names: { id: string; model: string }, estimate: number) {
    this.#names = names;
    this.#estimate = estimate;
  }

  begin(): string {
    const message = writeMessage(this.#names, [], null, sumTokens(this.#estimate, 0));
    return frame({ type: "message_start", message });
  }

  keepAlive(): string {
    return PING;
  }

  /** Clients expect whole blocks, while servers may mix the pieces of several calls. */
  piece(piece: Chunk): string {
    const part = readBlock(piece);
    if (this.#open?.place === part.place) return this.#add(this.#open, part.text);
    if (this.#closed.has(part.place)) return "";
    const isHeld = this.#held.size > 0 || (this.#open !== null && !isWhole(this.#open));
    if (!isHeld) return this.#close() + this.#begin(part);
    const held = this.#held.get(part.place);
    if (held) held.text += part.text;
    else this.#held.set(part.place, part);
    return "";
  }

  finish(completion: CompletionOk): string {
    let frames = this.#close();
    for (const part of this.#held.values()) frames += this.#begin(part) + this.#close();
    const usage = countedUsage(completion.usage);
    frames += frame({ type: "message_delta", delta: describeEnd(completion), usage });
    return frames + frame({ type: "message_stop" });
  }

  fail(error: ApiError, request_id: string): string {
    return writeNamedFrame("error", writeDialectError("anthropic", error, request_id));
  }

  #begin(part: OpenBlock): string {
    this.#index += 1;
    const { place, id, name, text } = part;
    this.#open = { ...part, text: "" };
    const content_block = place === TEXT ? openText("") : openCall(id, name);
    const start = frame({ type: "content_block_start", index: this.#index, content_block });
    return start + this.#add(this.#open, text);
  }

  #add(part: OpenBlock, text: string): string {
    if (part.place !== TEXT) part.text += text;
    return this.#write(part, this.#halves.join(part.place, text));
  }

  #write({ place }: OpenBlock, text: string): string {
    if (text === "") return "";
    const head = { type: "content_block_delta", index: this.#index } as const;
    return place === TEXT
      ? frame({ ...head, delta: { type: "text_delta", text } })
      : frame({ ...head, delta: { type: "input_json_delta", partial_json: text } });
  }

  #close(): string {
    const part = this.#open;
    if (part === null) return "";
    this.#open = null;
    if (part.place !== TEXT) this.#closed.add(part.place);
    const rest = this.#write(part, this.#halves.end(part.place));
    return rest + frame({ type: "content_block_stop", index: this.#index });
  }
}

function readBlock(piece: Chunk): OpenBlock {
  if (piece.kind === "text") return { place: TEXT, id: "", name: "", text: piece.text };
  const { index, id = "", name = "", arguments: text } = piece;
  return { place: index, id, name, text };
}

/** Parsed only where another block begins, since it costs much. */
function isWhole({ place, text }: OpenBlock): boolean {
  return place === TEXT || (text.trimEnd().endsWith("}") && parseJson(text) !== undefined);
}

function frame(event: MessageEvent): string {
  return writeNamedFrame(event.type, JSON.stringify(event));
}
