// The data of an event as JSON of bounded size: the longest texts are cut first.

const DATA_BYTES_MAX = 64 * 1024;
/** Minimum length of a text to cut; shorter ones say what the event is about. */
const LONG_CHARACTERS = 256;
/** Maximum names of cut texts; where more are needed, whole fields are cut. */
const NAMES_MAX = 100;
const DEPTH_MAX = 16;

type Json = Record<string, unknown>;

/** JSON of at most 64 KiB: the longest texts become null, and `truncated` names them. */
export function writeEventData(data: Json): string {
  const whole = JSON.stringify(data);
  // A UTF-16 unit takes at most three bytes.
  if (whole.length <= DATA_BYTES_MAX / 3) return whole;
  const bytes = Buffer.byteLength(whole);
  if (bytes <= DATA_BYTES_MAX) return whole;
  // Many short texts or numbers can only be cut with their whole fields.
  return (
    shorten(whole, bytes, listTexts, NAMES_MAX) ?? shorten(whole, bytes, listFields, Infinity)!
  );
}

interface Piece {
  name: string;
  bytes: number;
  clear(): void;
}

function shorten(
  whole: string,
  bytes: number,
  list: (data: Json) => Piece[],
  namesMax: number,
): string | null {
  const copy = JSON.parse(whole) as Json;
  const pieces = list(copy).sort((one, other) => other.bytes - one.bytes);
  const truncated: string[] = [];
  let left = bytes + bytesOf({ truncated: [] });
  for (const { name, bytes, clear } of pieces) {
    if (left <= DATA_BYTES_MAX || truncated.length === namesMax) break;
    clear();
    truncated.push(name);
    left += bytesOf(null) - bytes + bytesOf(name) + 1;
  }
  return left <= DATA_BYTES_MAX ? JSON.stringify({ ...copy, truncated: truncated.sort() }) : null;
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

function makePiece(place: Json, path: readonly string[]): Piece {
  const field = path.at(-1)!;
  const clear = () => {
    place[field] = null;
  };
  return { name: path.join("."), bytes: bytesOf(place[field]), clear };
}

function listTexts(place: Json, path: readonly string[] = []): Piece[] {
  return Object.entries(place).flatMap(([field, value]): Piece[] => {
    const here = [...path, field];
    if (typeof value === "string") {
      return value.length < LONG_CHARACTERS ? [] : [makePiece(place, here)];
    }
    const isOpen = typeof value === "object" && value !== null && here.length < DEPTH_MAX;
    return isOpen ? listTexts(value as Json, here) : [];
  });
}

function listFields(data: Json): Piece[] {
  return Object.entries(data)
    .flatMap(([subject, value]) =>
      Object.keys(value as Json).map((field) => makePiece(value as Json, [subject, field])),
    )
    .filter(({ bytes }) => bytes >= LONG_CHARACTERS);
}
