// Pages of lists: their queries, and cursors that only the same list accepts.
import { Type } from "@sinclair/typebox";
import { type ApiError, apiError } from "../platform/errors.ts";
import { maybe } from "../platform/schema.ts";

type Position = readonly (string | number)[];

const CHARACTERS_MAX = 128;
const ID = /^[0-9a-f-]{36}$/;
/** Size of a checksum against typing errors and cursors of other lists; it protects no secret. */
const CHECKSUM_BYTES = 6;

export const PAGE_LIMIT = { default: 50, minimum: 1, maximum: 200 };

/** Query fields of a page; `description` is that of its limit. */
export function PageQuery(description: string) {
  return {
    limit: Type.Optional(Type.Integer({ ...PAGE_LIMIT, description })),
    before: Type.Optional(
      Type.String({
        description:
          "The `next_before` of the page before, of the same list with the same filters.",
        maxLength: CHARACTERS_MAX,
      }),
    ),
  };
}

export const NEXT_BEFORE = maybe(
  Type.String({ description: "`before` of the next page; null: this is the last." }),
);

/** Writes the `before` with which a list goes on after `position`. */
export function encodeCursor(list: string, position: Position): string {
  const json = JSON.stringify(position);
  const checksum = new Bun.CryptoHasher("sha256").update(`${list}\n${json}`).digest();
  const bytes = Buffer.concat([checksum.subarray(0, CHECKSUM_BYTES), Buffer.from(json)]);
  const text = bytes.toString("base64url");
  if (text.length > CHARACTERS_MAX) throw new Error(`a cursor of ${list} is too long`);
  return text;
}

/** agents.errors.p9: refuses anything but a cursor of the same list. */
export function decodeCursor(list: string, text: string): (string | number)[] {
  const position = text.length <= CHARACTERS_MAX ? decode(text) : null;
  // Writing it again checks the checksum, the list and the spelling at once.
  if (position && encodeCursor(list, position) === text) return position;
  throw cursorError();
}

export interface ListPosition {
  /** Milliseconds since 1970. */
  at: number;
  id: string;
}

export function encodePosition(list: string, { at, id }: ListPosition): string {
  return encodeCursor(list, [at, id]);
}

/** Reads a position; a forged checksum gets no other values accepted. */
export function decodePosition(list: string, text: string): ListPosition {
  const [at, id, ...others] = decodeCursor(list, text);
  const isPlace = Number.isSafeInteger(at) && typeof id === "string" && ID.test(id);
  if (!isPlace || others.length > 0) throw cursorError();
  return { at: at as number, id: id as string };
}

export interface DatedList<R> {
  /** Name of the list with its filters; a cursor of another name is refused. */
  name: string;
  limit: number | undefined;
  before: string | undefined;
  read(page: { before: ListPosition | null; limit: number }): Promise<readonly R[]>;
  show(row: R): object;
}

/** Reads a page of a list that is sorted by `created_at` and id, newest first. */
export async function readPage<R extends { created_at: number; id: string }>({
  name,
  limit = PAGE_LIMIT.default,
  before,
  read,
  show,
}: DatedList<R>) {
  const position = before === undefined ? null : decodePosition(name, before);
  // One row more than shown reveals the next page.
  const found = await read({ before: position, limit: limit + 1 });
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1)! : null;
  const next_before = last && encodePosition(name, { at: last.created_at, id: last.id });
  return { data: rows.map(show), next_before };
}

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

function isPlace(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}
