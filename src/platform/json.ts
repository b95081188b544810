// JSON: well-formed for tokenizers, canonical (RFC 8785), and parsed where it may be none.

const SURROGATE = /\\u[dD][89a-fA-F]/;
/** Pattern of an escape: a whole surrogate pair, half of one, or any other. */
const ESCAPES =
  /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[dD][89a-fA-F][\da-fA-F]{2}|.)/g;
const HALF_LENGTH = "\\ud800".length;

/** `JSON.stringify` with U+FFFD in place of each half of a surrogate pair. */
export function writeJson(value: unknown): string {
  return repairJson(JSON.stringify(value));
}

export function repairJson(text: string): string {
  if (!SURROGATE.test(text)) return text;
  return text.replace(ESCAPES, (one) => (one.length === HALF_LENGTH ? "\\ufffd" : one));
}

/** Writes one text for one value. RFC 8785 asks for JSON.stringify's numbers and sorted keys. */
export function writeCanonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(writeCanonical).join(",")}]`;
  const fields = Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    // Comparison by UTF-16 code units, as the RFC asks.
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, inner]) => `${JSON.stringify(name)}:${writeCanonical(inner)}`);
  return `{${fields.join(",")}}`;
}

export type JsonObject = Record<string, unknown>;

/** Returns undefined for a text that is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function parseObject(text: string): JsonObject | null {
  const value = parseJson(text);
  return isObject(value) ? value : null;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads an object; any other value is read as an empty one. */
export function readObject(value: unknown): Readonly<JsonObject> {
  return isObject(value) ? value : {};
}

export function readList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Walks level by level: JSON.stringify recurses, and takes seconds for 40,000 levels. */
export function isDeeper(value: unknown, levelsMax: number): boolean {
  let level = [value].filter(isCompound);
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > levelsMax) return true;
    level = level.flatMap((parent) => {
      const inner: unknown[] = Array.isArray(parent) ? parent : Object.values(parent);
      return inner.filter(isCompound);
    });
  }
  return false;
}

function isCompound(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
