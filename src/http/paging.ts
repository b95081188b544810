// Cursors of pages: where a list went on, as a text that only the same list takes back.
import { type Refusal, refuse } from "../platform/refusal.ts";

type Position = readonly (string | number)[];

const CHARACTERS_MAX = 128;
/** Against a slip of the hand and another list's cursor; it keeps no secret. */
const CHECKSUM_BYTES = 6;

/** What a list takes as `before` to go on behind `position`. */
export function writeCursor(list: string, position: Position): string {
  const json = JSON.stringify(position);
  const checksum = new Bun.CryptoHasher("sha256").update(`${list}\n${json}`).digest();
  const bytes = Buffer.concat([checksum.subarray(0, CHECKSUM_BYTES), Buffer.from(json)]);
  const text = bytes.toString("base64url");
  if (text.length > CHARACTERS_MAX) throw new Error(`a cursor of ${list} is too long`);
  return text;
}

/** agents.errors.p9: anything but what `writeCursor` wrote for the same list is refused. */
export function readCursor(list: string, text: string): (string | number)[] {
  const position = text.length <= CHARACTERS_MAX ? decode(text) : null;
  // Written again it must be the same: checksum, list and spelling are all judged by that.
  if (position && writeCursor(list, position) === text) return position;
  throw refuseCursor();
}

/** Also of a list whose cursor holds something else: its checksum keeps no secret. */
export function refuseCursor(): Refusal {
  const message = "`before` must be a `next_before` of this list.";
  return refuse("validation", { param: "before", message });
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
