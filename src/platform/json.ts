// Writes JSON in which every text is well-formed Unicode, as tokenizers and strict readers need it.

/** The mark of every surrogate that is written as an escape. */
const SURROGATE = /\\u[dD][89a-fA-F]/;
/** Escapes from left to right: a whole pair, half of one, or any other. */
const ESCAPES =
  /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[dD][89a-fA-F][\da-fA-F]{2}|.)/g;
const HALF_LENGTH = "\\ud800".length;

/** `JSON.stringify` with U+FFFD in the place of each half of a surrogate pair. */
export function writeJson(value: unknown): string {
  return repairJson(JSON.stringify(value));
}

/** The same for a JSON text: readers make a lone surrogate of an escape that is half a pair. */
export function repairJson(text: string): string {
  if (!SURROGATE.test(text)) return text;
  return text.replace(ESCAPES, (one) => (one.length === HALF_LENGTH ? "\\ufffd" : one));
}
