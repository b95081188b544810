// What crosses to the writer and back: one JSON text where it says the same, for that costs less.

/** A value, or the JSON of it. */
export type WireValue<T extends object> = string | T;

/** A long text is faster copied as it is than written in quotes and read again. */
const TEXT_CHARACTERS_MAX = 65_536;
const DEPTH_MAX = 32;

/** What JSON would lose or change, such as NaN and undefined, is left for the structured clone. */
export function encodeWire<T extends object>(value: T): WireValue<T> {
  return isSameAsJson(value, 0) ? JSON.stringify(value) : value;
}

export function decodeWire<T extends object>(packed: WireValue<T>): T {
  return typeof packed === "string" ? JSON.parse(packed) : packed;
}

function isSameAsJson(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case "string":
      return value.length <= TEXT_CHARACTERS_MAX;
    case "boolean":
      return true;
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0);
    case "object":
      return value === null || (depth < DEPTH_MAX && hasOnlyJson(value, depth + 1));
    default:
      return false;
  }
}

function hasOnlyJson(value: object, depth: number): boolean {
  if (Array.isArray(value)) {
    // Not by `every`, which passes over what an array does not have.
    for (let at = 0; at < value.length; at++) if (!isSameAsJson(value[at], depth)) return false;
    return true;
  }
  // A date, a map or bytes are none, and neither is an error.
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  for (const name in value) {
    if (!isSameAsJson((value as Record<string, unknown>)[name], depth)) return false;
  }
  return true;
}
