// An error in a caller's JSON Schema, with its place.
import { shorten, writeOneLine } from "../../../platform/text.ts";

const SENTENCE_CHARACTERS_MAX = 295;
const PLACE_CHARACTERS_MAX = 100;

export class SchemaError extends Error {
  /** `place` is a JSON pointer into the parameters. */
  constructor(place: string, problem: string) {
    super(writeSentence(`\`parameters${shorten(place, PLACE_CHARACTERS_MAX)}\` ${problem}`));
  }
}

export function writeSentence(text: string): string {
  return writeOneLine(`${shorten(text.replace(/\.$/, ""), SENTENCE_CHARACTERS_MAX)}.`);
}

export function stepInto(place: string, name: string | number): string {
  return `${place}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
