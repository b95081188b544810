// What an endpoint's reply says to a model: its text, or a sentence in place of what is no text.

import type { GuardedReply } from "../../../net/index.ts";
import { shorten } from "../../../platform/text.ts";
import { scrub } from "./scrub/scrub.ts";

/** Further bytes are not read. */
export const REPLY_BYTES_MAX = 1024 * 1024;
/** Of a failure the beginning says what is wrong. */
const FAILURE_CHARACTERS_MAX = 4_000;
const TYPE = /^[a-z0-9!#$&^_.+-]{1,64}\/[a-z0-9!#$&^_.+-]{1,64}$/;
/** Many servers say so of whatever they were not told a type of. */
const UNTYPED = "application/octet-stream";
/** Types of text beside `text/…`, `…+json` and `…+xml`. */
const TEXT_TYPES = new Set(
  [
    ...["json", "jsonl", "ndjson", "x-ndjson", "json-seq", "json5", "xml", "xml-dtd"],
    ...["yaml", "x-yaml", "toml", "javascript", "ecmascript", "x-javascript", "graphql", "sql"],
    ...["x-www-form-urlencoded", "x-sh"],
  ].map((name) => `application/${name}`),
);

export interface ShownReply {
  content: string;
  /** true: words of the endpoint stand in it. */
  isTheirs: boolean;
}

type Body =
  | { kind: "empty" | "packed" }
  | { kind: "text"; text: string }
  /** `type`: null: unknown. */
  | { kind: "bytes"; type: string | null };

/** `secret`: what was sent along, and is not shown; null: nothing was. */
export async function showReply(reply: GuardedReply, secret: string | null): Promise<ShownReply> {
  const { status, truncated } = reply;
  const clean = async (text: string, isCut: boolean) =>
    secret === null ? text : await scrub(text, secret, isCut);
  const elsewhere = status >= 300 && status < 400 ? "; redirects are not followed" : "";
  const answer = (what: string) => `The endpoint answered ${status}${what}${elsewhere}.`;
  const { length } = reply.body;
  const size = `${truncated ? "more than " : ""}${length} ${length === 1 ? "byte" : "bytes"}`;
  const body = readBody(reply);
  switch (body.kind) {
    case "empty":
      return { content: answer(" with an empty reply"), isTheirs: false };
    case "packed":
      return { content: answer(` with ${size} that are compressed, not shown`), isTheirs: false };
    case "bytes": {
      const of = body.type === null ? "" : ` of ${await clean(body.type, false)}`;
      return { content: answer(` with ${size}${of}, not shown`), isTheirs: of !== "" };
    }
  }
  const text = await clean(body.text, truncated);
  if (!isSuccess(status)) {
    return { content: `${answer("")}\n\n${shorten(text, FAILURE_CHARACTERS_MAX)}`, isTheirs: true };
  }
  // Said in front: the end of what is too long may be cut again.
  const mark = truncated ? `The reply has ${size}; this is its beginning.\n\n` : "";
  return { content: mark + text, isTheirs: true };
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function readBody({ body, headers, truncated }: GuardedReply): Body {
  if (body.length === 0) return { kind: "empty" };
  // It was asked not to, and nothing is unpacked: a small reply could become a huge one.
  const encoding = headers.get("content-encoding")?.trim().toLowerCase();
  if (encoding && encoding !== "identity") return { kind: "packed" };
  const said = headers.get("content-type");
  const type = readType(said ?? UNTYPED);
  const isText = type === UNTYPED ? isPlainText(body, truncated) : type && isTextType(type);
  if (!isText) return { kind: "bytes", type };
  // It may have been cut inside a character, which is none then.
  return { kind: "text", text: readDecoder(said).decode(body, { stream: truncated }) };
}

/** What stands in front of the parameters; null: nothing that names a type. */
function readType(said: string): string | null {
  const type = said.split(";", 1)[0]!.trim().toLowerCase();
  return TYPE.test(type) ? type : null;
}

function isTextType(type: string): boolean {
  const isStructured = type.endsWith("+json") || type.endsWith("+xml") || type.endsWith("+yaml");
  return type.startsWith("text/") || isStructured || TEXT_TYPES.has(type);
}

/** What has no type is text if it reads as UTF-8. */
function isPlainText(body: Uint8Array, isCut: boolean): boolean {
  if (body.includes(0)) return false;
  try {
    // A stream may end inside a character.
    new TextDecoder("utf-8", { fatal: true }).decode(body, { stream: isCut });
    return true;
  } catch {
    return false;
  }
}

function readDecoder(said: string | null): TextDecoder {
  const charset = /;\s{0,8}charset\s{0,8}=\s{0,8}"?([^\s";]{1,64})/i.exec(said ?? "")?.[1];
  try {
    return new TextDecoder((charset ?? "utf-8") as Bun.Encoding);
  } catch {
    return new TextDecoder();
  }
}
