// Writes a response as the events of its stream, in order and numbered.
import type { Chunk, CompletionOk } from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { type ApiError, typeOf } from "../../platform/errors.ts";
import type { Ids } from "../../platform/ids.ts";
import { Halves, TEXT } from "../chat/halves.ts";
import type { StreamWriter } from "../chat/stream.ts";
import { beginCall, beginMessage, endResponse, statusOfLast, writeText } from "./output.ts";
import type { OutputCall, OutputItem, OutputMessage, ResponseObject } from "./resource.ts";

const DONE = "data: [DONE]\n\n";

interface ResponseWriterOptions {
  clock: Clock;
  ids: Ids;
  /** Names the field of the request that an error is about. */
  toSentParam(param: string): string;
}

/** An item that has begun, its place, and its text so far. */
interface OpenItem<Item> {
  item: Item;
  at: number;
  /** The place as JSON without braces, since most frames are deltas. */
  placed: string;
  text: string;
}

export class ResponseWriter implements StreamWriter {
  readonly #begun: ResponseObject;
  readonly #options: ResponseWriterOptions;
  readonly #halves = new Halves();
  /** Items in their order; a begun one is replaced at its end. */
  readonly #output: OutputItem[] = [];
  /** Calls are whole at the end only: servers may send their pieces in turns. */
  readonly #calls = new Map<number, OpenItem<OutputCall>>();
  #message: OpenItem<OutputMessage> | null = null;
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
    if (this.#output.length === 0) frames += this.#openMessage();
    const last = this.#output.length - 1;
    const status = (at: number) => (at === last ? statusOfLast(completion) : "completed");
    // In the order of the items: a message may follow a call.
    for (let at = 0; at <= last; at++) {
      if (this.#message?.at === at) frames += this.#closeMessage(status(at));
      const call = [...this.#calls.values()].find((one) => one.at === at);
      if (call) frames += this.#closeCall(call, status(at));
    }
    const now = this.#options.clock.now();
    const response = endResponse(this.#begun, this.#output, completion, now);
    return frames + this.#write(`response.${response.status}`, { response }) + DONE;
  }

  fail({ code, message, status, details }: ApiError): string {
    const param = details.param ? this.#options.toSentParam(details.param) : null;
    const error = { type: typeOf(status), code, message, param };
    const output = this.#output.map((item): OutputItem => {
      return item.status === "in_progress" ? this.#showOpen(item) : item;
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
    return `event: ${type}\ndata: ${data}\n\n`;
  }

  #writeDelta(type: string, placed: string, delta: string): string {
    const head = `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#sequence++},`;
    return `${head}${placed},"delta":${JSON.stringify(delta)}}\n\n`;
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
    // A text before the first call is whole.
    const said = this.#message ? this.#closeMessage("completed") : "";
    const call = this.#open(beginCall(this.#options.ids, call_id, name));
    this.#calls.set(index, call);
    return said + this.#writeItem("added", call);
  }

  #open<Item extends OutputItem>(item: Item): OpenItem<Item> {
    const at = this.#output.push(item) - 1;
    const placed = `"item_id":${JSON.stringify(item.id)},"output_index":${at}`;
    return { item, at, placed, text: "" };
  }

  #closeMessage(status: OutputItem["status"]): string {
    const begun = this.#addText(this.#halves.end(TEXT));
    const message = this.#message!;
    this.#message = null;
    const { text } = message;
    const part = writeText(text);
    message.item = { ...message.item, status, content: [part] };
    this.#output[message.at] = message.item;
    const place = placeText(message);
    return (
      begun +
      this.#write("response.output_text.done", { ...place, text, logprobs: [] }) +
      this.#write("response.content_part.done", { ...place, part }) +
      this.#writeItem("done", message)
    );
  }

  #closeCall(call: OpenItem<OutputCall>, status: OutputItem["status"]): string {
    const { text } = call;
    call.item = { ...call.item, status, arguments: text };
    this.#output[call.at] = call.item;
    const fields = { ...placeItem(call), name: call.item.name, arguments: text };
    return (
      this.#write("response.function_call_arguments.done", fields) + this.#writeItem("done", call)
    );
  }

  #writeItem(type: "added" | "done", { item, at }: OpenItem<OutputItem>): string {
    return this.#write(`response.output_item.${type}`, { output_index: at, item });
  }

  #showOpen(item: OutputItem): OutputItem {
    const status = "incomplete";
    if (item.type === "message") {
      return { ...item, status, content: [writeText(this.#message?.text ?? "")] };
    }
    const call = [...this.#calls.values()].find((one) => one.item === item);
    return { ...item, status, arguments: call?.text ?? "" };
  }
}

function placeItem({ item, at }: OpenItem<OutputItem>) {
  return { item_id: item.id, output_index: at };
}

function placeText(message: OpenItem<OutputMessage>) {
  return { ...placeItem(message), content_index: 0 };
}
