// Cursors of pages: where a list went on, as a text that only the same list takes back.
import { Type } from "@sinclair/typebox";
import { type ApiError, apiError } from "../platform/errors.ts";
import { maybe } from "../platform/schema.ts";

type Position = readonly (string | number)[];

const CHARACTERS_MAX = 128;
const ID = /^[0-9a-f-]{36}$/;
/** Against a slip of the hand and another list's cursor; it keeps no secret. */
const CHECKSUM_BYTES = 6;

/** The field of a list's query that goes on behind a page. */
export const BEFORE = Type.Optional(
  Type.String({
    description: "The `next_before` of the page before, of the same list with the same filters.",
    maxLength: CHARACTERS_MAX,
  }),
);

/** The field of a page that leads to the next one. */
export const NEXT_BEFORE = maybe(
  Type.String({ description: "`before` of the next page; null: this is the last." }),
);

/** What a list takes as `before` to go on behind `position`. */
export function encodeCursor(list: string, position: Position): string {
  const json = JSON.stringify(position);
  const checksum = new Bun.CryptoHasher("sha256").update(`${list}\n${json}`).digest();
  const bytes = Buffer.concat([checksum.subarray(0, CHECKSUM_BYTES), Buffer.from(json)]);
  const text = bytes.toString("base64url");
  if (text.length > CHARACTERS_MAX) throw new Error(`a cursor of ${list} is too long`);
  return text;
}

/** agents.errors.p9: anything but what `writeCursor` wrote for the same list is refused. */
export function decodeCursor(list: string, text: string): (string | number)[] {
  const position = text.length <= CHARACTERS_MAX ? decode(text) : null;
  // Written again it must be the same: checksum, list and spelling are all judged by that.
  if (position && encodeCursor(list, position) === text) return position;
  throw cursorError();
}

/** The place of an item in a list that is in the order of an instant and then of ids. */
export interface ListPosition {
  /** In milliseconds since 1970. */
  at: number;
  id: string;
}

export function encodePosition(list: string, { at, id }: ListPosition): string {
  return encodeCursor(list, [at, id]);
}

/** Its checksum keeps no secret: who computes one for other values is refused all the same. */
export function decodePosition(list: string, text: string): ListPosition {
  const [at, id, ...others] = decodeCursor(list, text);
  const isPlace = Number.isSafeInteger(at) && typeof id === "string" && ID.test(id);
  if (!isPlace || others.length > 0) throw cursorError();
  return { at: at as number, id: id as string };
}

/** Also of a list whose cursor holds something else: its checksum keeps no secret. */
export function cursorError(): ApiError {
  const message = "`before` must be a `next_before` of this list.";
  return apiError("validation", { param: "before", message });
}

function decode(text: string): (string | number)[] | null {
  try {
    const json = Buffer.from(text, "base64url").subarray(CHECKSUM_BYTES).toString();
    const position: unknown = JSON.parse(json);
    return Array.isArray(position) && position.every(isPlace) ? position : null;
  } catch {
    return null;
  }
}

/** What a cursor of ours holds; whoever computes the checksum can write anything else. */
function isPlace(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}
