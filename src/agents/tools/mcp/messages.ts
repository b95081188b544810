// Messages of the Model Context Protocol: JSON-RPC 2.0, alone or in an event stream.
import { isObject, type JsonObject, parseObject } from "../../../platform/json.ts";

/** The stateless revision, and those with a handshake, newest first. */
export const STATELESS_REVISION = "2026-07-28";
export const SESSION_REVISIONS: readonly string[] = ["2025-11-25", "2025-06-18"];

export type RpcId = string | number;

export interface RpcError {
  code: number;
  message: string;
}

export type RpcAnswer = { id: RpcId | null } & (
  | { result: JsonObject; error?: undefined }
  | { error: RpcError; result?: undefined }
);

export type RpcMessage =
  | { kind: "answer"; answer: RpcAnswer }
  | { kind: "request"; id: RpcId; method: string }
  | { kind: "notification"; method: string };

/** Reads one message; undefined for any other text, also for a batch. */
export function readMessage(text: string): RpcMessage | undefined {
  const value = parseObject(text);
  if (value?.jsonrpc !== "2.0") return undefined;
  const { id, method, result, error } = value;
  const hasId = typeof id === "string" || typeof id === "number";
  if (typeof method === "string") {
    return hasId ? { kind: "request", id, method } : { kind: "notification", method };
  }
  if (!hasId && id !== null && id !== undefined) return undefined;
  const answered = hasId ? id : null;
  if (isObject(result)) return { kind: "answer", answer: { id: answered, result } };
  if (!isObject(error) || typeof error.code !== "number") return undefined;
  const message = typeof error.message === "string" ? error.message : "";
  return { kind: "answer", answer: { id: answered, error: { code: error.code, message } } };
}

/** Reads events out of the pieces of a stream; the reader of the stream bounds their length. */
export class EventReader {
  /** Id of the last event that had one, with which a stream that broke off is resumed. */
  lastId: string | null = null;
  /** Time that the server asks to wait before that. */
  retryMs: number | null = null;
  readonly #decoder = new TextDecoder();
  /** Text since the last line break: joined once, so that a long line takes linear time. */
  #line: string[] = [];
  #data: string[] = [];

  /** Returns the data of the events that end in this piece. */
  push(bytes: Uint8Array): string[] {
    const text = this.#decoder.decode(bytes, { stream: true });
    const ended: string[] = [];
    let from = 0;
    // Every end of a line has "\n" except that of old systems, which no server of ours uses.
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", from)) {
      this.#line.push(text.slice(from, at));
      from = at + 1;
      const data = this.#endLine(this.#line.join("").replace(/\r$/, ""));
      this.#line = [];
      if (data !== undefined) ended.push(data);
    }
    if (from < text.length) this.#line.push(text.slice(from));
    return ended;
  }

  #endLine(line: string): string | undefined {
    if (line === "") {
      const data = this.#data;
      this.#data = [];
      return data.length > 0 ? data.join("\n") : undefined;
    }
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    else if (field === "id" && /^[!-~]{1,1024}$/.test(value)) this.lastId = value;
    else if (field === "retry" && /^\d{1,9}$/.test(value)) this.retryMs = Number(value);
    return undefined;
  }
}
