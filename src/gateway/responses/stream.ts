// Writes a response as the events of its stream, in order and numbered.
import { writeNamedFrame } from "../../http/index.ts";
import type { Chunk, CompletionOk } from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { type ApiError, typeOf } from "../../platform/errors.ts";
import type { Ids } from "../../platform/ids.ts";
import { Halves, TEXT } from "../chat/halves.ts";
import type { StreamWriter } from "../chat/stream.ts";
import { beginCall, beginMessage, endResponse, statusOfLast, writeText } from "./output.ts";
import type { OutputItem, ResponseObject } from "./resource.ts";

const DONE = "data: [DONE]\n\n";

interface ResponseWriterOptions {
  clock: Clock;
  ids: Ids;
  /** Names the field of the request that an error is about. */
  toSentParam(param: string): string;
}

/** An item that has begun, its place, and its text so far. */
interface BegunItem {
  /** Replaced at its end. */
  item: OutputItem;
  at: number;
  /** The place as JSON without braces, since most frames are deltas. */
  placed: string;
  text: string;
}

export class ResponseWriter implements StreamWriter {
  readonly #begun: ResponseObject;
  readonly #options: ResponseWriterOptions;
  readonly #halves = new Halves();
  readonly #items: BegunItem[] = [];
  /** Calls are whole at the end only: servers may send their pieces in turns. */
  readonly #calls = new Map<number, BegunItem>();
  /** The message whose text goes on. */
  #message: BegunItem | null = null;
  #sequence = 0;

  constructor(begun: ResponseObject, options: ResponseWriterOptions) {
    this.#begun = begun;
    this.#options = options;
  }

  begin(): string {
    const response = this.#begun;
    return (
      this.#write("response.created", { response }) +
      this.#write("response.in_progress", { response })
    );
  }

  piece(chunk: Chunk): string {
    if (chunk.kind === "text") return this.#addText(this.#halves.join(TEXT, chunk.text));
    const { index, id = "", name = "" } = chunk;
    const begun = this.#calls.has(index) ? "" : this.#openCall(index, id, name);
    return begun + this.#addArguments(index, this.#halves.join(index, chunk.arguments));
  }

  /** A comment, which all clients skip. */
  keepAlive(): string {
    return ": keep-alive\n\n";
  }

  finish(completion: CompletionOk): string {
    let frames = this.#addText(this.#halves.end(TEXT));
    for (const [index, { text }] of this.#calls) {
      const missing = this.#halves.end(index) || (text === "" ? "{}" : "");
      frames += this.#addArguments(index, missing);
    }
    if (this.#items.length === 0) frames += this.#openMessage();
    const last = this.#items.at(-1);
    // In the order of the items: a message may follow a call.
    for (const begun of this.#items) {
      if (begun.item.status !== "in_progress") continue;
      frames += this.#close(begun, begun === last ? statusOfLast(completion) : "completed");
    }
    const output = this.#items.map(({ item }) => item);
    const now = this.#options.clock.now();
    const response = endResponse(this.#begun, output, completion, now);
    return frames + this.#write(`response.${response.status}`, { response }) + DONE;
  }

  fail({ code, message, status, details }: ApiError): string {
    const param = details.param ? this.#options.toSentParam(details.param) : null;
    const error = { type: typeOf(status), code, message, param };
    const output = this.#items.map((begun) => {
      return begun.item.status === "in_progress" ? fill(begun, "incomplete") : begun.item;
    });
    const response = { ...this.#begun, status: "failed", output, error: { code, message } };
    return (
      // Clients read the error at the top or in `error`.
      this.#write("error", { code, message, param, error }) +
      this.#write("response.failed", { response }) +
      DONE
    );
  }

  #write(type: string, fields: object): string {
    const data = JSON.stringify({ type, sequence_number: this.#sequence++, ...fields });
    return writeNamedFrame(type, data);
  }

  #writeDelta(type: string, placed: string, delta: string): string {
    const head = `{"type":"${type}","sequence_number":${this.#sequence++},${placed}`;
    return writeNamedFrame(type, `${head},"delta":${JSON.stringify(delta)}}`);
  }

  #addText(delta: string): string {
    if (delta === "") return "";
    const begun = this.#message ? "" : this.#openMessage();
    const message = this.#message!;
    message.text += delta;
    const placed = `${message.placed},"content_index":0,"logprobs":[]`;
    return begun + this.#writeDelta("response.output_text.delta", placed, delta);
  }

  #addArguments(index: number, delta: string): string {
    if (delta === "") return "";
    const call = this.#calls.get(index)!;
    call.text += delta;
    return this.#writeDelta("response.function_call_arguments.delta", call.placed, delta);
  }

  #openMessage(): string {
    const message = this.#open(beginMessage(this.#options.ids));
    this.#message = message;
    return (
      this.#writeItem("added", message) +
      this.#write("response.content_part.added", { ...placeText(message), part: writeText("") })
    );
  }

  #openCall(index: number, call_id: string, name: string): string {
    // A text is whole when a call begins.
    const said = this.#message ? this.#close(this.#message, "completed") : "";
    const call = this.#open(beginCall(this.#options.ids, call_id, name));
    this.#calls.set(index, call);
    return said + this.#writeItem("added", call);
  }

  #open(item: OutputItem): BegunItem {
    const at = this.#items.length;
    const placed = `"item_id":${JSON.stringify(item.id)},"output_index":${at}`;
    const begun = { item, at, placed, text: "" };
    this.#items.push(begun);
    return begun;
  }

  #close(begun: BegunItem, status: OutputItem["status"]): string {
    const rest = begun === this.#message ? this.#addText(this.#halves.end(TEXT)) : "";
    const item = fill(begun, status);
    begun.item = item;
    const { text } = begun;
    if (item.type === "function_call") {
      const fields = { ...placeItem(begun), name: item.name, arguments: text };
      const done = this.#write("response.function_call_arguments.done", fields);
      return done + this.#writeItem("done", begun);
    }
    this.#message = null;
    const place = placeText(begun);
    return (
      rest +
      this.#write("response.output_text.done", { ...place, text, logprobs: [] }) +
      this.#write("response.content_part.done", { ...place, part: writeText(text) }) +
      this.#writeItem("done", begun)
    );
  }

  #writeItem(type: "added" | "done", { item, at }: BegunItem): string {
    return this.#write(`response.output_item.${type}`, { output_index: at, item });
  }
}

/** The item with its text so far. */
function fill({ item, text }: BegunItem, status: OutputItem["status"]): OutputItem {
  if (item.type === "message") return { ...item, status, content: [writeText(text)] };
  return { ...item, status, arguments: text };
}

function placeItem({ item, at }: BegunItem) {
  return { item_id: item.id, output_index: at };
}

function placeText(message: BegunItem) {
  return { ...placeItem(message), content_index: 0 };
}
