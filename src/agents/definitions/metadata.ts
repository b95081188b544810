// Metadata as callers send it: a few short texts by short names, which mean nothing to us.
import { Type } from "@sinclair/typebox";

const ENTRIES_MAX = 16;
const KEY_CHARACTERS_MAX = 64;
const VALUE_CHARACTERS_MAX = 512;

export const SentMetadata = Type.Object(
  {},
  {
    additionalProperties: Type.String({ description: "A text.", maxLength: VALUE_CHARACTERS_MAX }),
    description:
      `At most ${ENTRIES_MAX} texts of ${VALUE_CHARACTERS_MAX} characters, ` +
      `by names of ${KEY_CHARACTERS_MAX}.`,
  },
);

/** What no schema says of a map; a rule of the body it stands in. */
export function validateMetadata(metadata: object | null | undefined): string | null {
  const entries = Object.entries(metadata ?? {}) as [string, unknown][];
  if (entries.length > ENTRIES_MAX) return `must have at most ${ENTRIES_MAX} entries`;
  if (entries.some(([name]) => isLonger(name, KEY_CHARACTERS_MAX))) {
    return `must have names of at most ${KEY_CHARACTERS_MAX} characters`;
  }
  const isText = (value: unknown) =>
    typeof value === "string" && !isLonger(value, VALUE_CHARACTERS_MAX);
  if (entries.every(([, value]) => isText(value))) return null;
  return `must have texts of at most ${VALUE_CHARACTERS_MAX} characters as values`;
}

/** In code points, as every length of the API. */
function isLonger(text: string, characters: number): boolean {
  if (text.length <= characters) return false;
  return text.length > 2 * characters || [...text].length > characters;
}
