// The data of an event as text: whole where it is short, else without its longest texts.

/** No receiver is sent more. */
const DATA_BYTES_MAX = 64 * 1024;
/** Shorter texts stay: without them nobody would know what is spoken of. */
const LONG_CHARACTERS = 256;

type Json = Record<string, unknown>;

/** JSON of at most 64 KiB: the longest texts become null, and `truncated` names them. */
export function writeEventData(data: Json): string {
  const whole = JSON.stringify(data);
  if (Buffer.byteLength(whole) <= DATA_BYTES_MAX) return whole;
  const copy = JSON.parse(whole) as Json;
  const texts = listTexts(copy, []).sort((one, other) => other.length - one.length);
  const truncated: string[] = [];
  for (const { path, clear } of texts) {
    clear();
    truncated.push(path.join("."));
    const text = JSON.stringify({ ...copy, truncated: [...truncated].sort() });
    if (Buffer.byteLength(text) <= DATA_BYTES_MAX) return text;
  }
  throw new Error("the data of an event is too long without its texts");
}

interface LongText {
  path: string[];
  length: number;
  clear(): void;
}

function listTexts(place: Json, path: string[]): LongText[] {
  return Object.entries(place).flatMap(([name, value]): LongText[] => {
    const here = [...path, name];
    if (typeof value === "string") {
      if (value.length < LONG_CHARACTERS) return [];
      const clear = () => {
        place[name] = null;
      };
      return [{ path: here, length: value.length, clear }];
    }
    return typeof value === "object" && value !== null ? listTexts(value as Json, here) : [];
  });
}
