// Brings tool-call pieces of any server into one form: index always, id and name in the first.
import type { Ids } from "../../platform/ids.ts";
import type { Chunk } from "./contract.ts";

/** A tool call or a piece of one, as servers send it; any field can be missing. */
export interface RawCall {
  index?: unknown;
  id?: unknown;
  function?: { name?: unknown; arguments?: unknown };
}

type CallPiece = Extract<Chunk, { kind: "call" }>;

interface Call {
  /** Our place of it, from the first piece that was told on. */
  index: number;
  id: string;
  /** The id that the server gave it. */
  given: string;
  name: string;
  /** The arguments so far. */
  text: string;
  /** True while they end like an object: to parse them at each piece would cost their square. */
  isClosed: boolean;
  isTold: boolean;
}

export interface CallNormalizer {
  /** The piece as callers need it; null: it says nothing that can be told yet. */
  take(raw: RawCall): CallPiece | null;
  /** True once a call has begun. */
  readonly hasCalls: boolean;
}

export function createCallNormalizer(ids: Ids): CallNormalizer {
  /** Calls by what the server knows them by: its index, or the id where it leaves the index out. */
  const known = new Map<unknown, Call>();
  const taken_ids = new Set<string>();
  let last: Call | undefined;
  let told = 0;

  /** The call that a piece goes on with, unless it begins another. */
  const find = (mark: unknown, id: string, name: string): Call | undefined => {
    // Without index and name a piece cannot begin a call, even where its id is a new one each time.
    const isNameless = typeof mark !== "number" && name === "";
    const call = known.get(mark) ?? (isNameless || mark === "" ? last : undefined);
    if (!call || name === "") return call;
    // Some number every call 0, some repeat the name, some make up an id for each piece.
    const isSame = id === "" ? typeof mark === "number" : id === call.given;
    return isSame || (name === call.name && !(call.isClosed && isWhole(call.text)))
      ? call
      : undefined;
  };
  const begin = (mark: unknown, id: string): Call => {
    const call: Call = {
      index: -1,
      id,
      given: id,
      name: "",
      text: "",
      isClosed: false,
      isTold: false,
    };
    // The caller's answers are matched by id: an empty one or one that is in use would mix them up.
    if (id === "" || taken_ids.has(id)) call.id = `call_${ids.token(24)}`;
    taken_ids.add(call.id);
    if (mark !== "") known.set(mark, call);
    return call;
  };
  return {
    take(raw) {
      const id = readText(raw.id);
      const name = readText(raw.function?.name);
      const text = readArguments(raw.function?.arguments);
      const mark = typeof raw.index === "number" ? raw.index : id;
      const call = find(mark, id, name) ?? begin(mark, id);
      last = call;
      call.text += text;
      if (text.trim() !== "") call.isClosed = text.trimEnd().endsWith("}");
      if (call.isTold) {
        return text === "" ? null : { kind: "call", index: call.index, arguments: text };
      }
      call.name = name;
      // The first piece carries the name: until it is known the rest waits.
      if (name === "") return null;
      call.isTold = true;
      call.index = told++;
      return { kind: "call", index: call.index, id: call.id, name, arguments: call.text };
    },
    get hasCalls() {
      return told > 0;
    },
  };
}

function readText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The format says text; Ollama sends an object. */
function readArguments(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    return typeof value === "object" && value !== null ? JSON.stringify(value) : "";
  } catch {
    // Deeper than can be written: no model means that.
    return "";
  }
}

function isWhole(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
