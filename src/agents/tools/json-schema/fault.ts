// What is wrong with a caller's JSON Schema, and where.
import { shorten, writeOneLine } from "../../../platform/text.ts";

const SENTENCE_CHARACTERS_MAX = 295;
const PLACE_CHARACTERS_MAX = 100;

/** Thrown while a schema is read; its message is a whole sentence for the caller. */
export class SchemaFault extends Error {
  /** `at`: the place as a JSON pointer; empty: the schema as a whole. */
  constructor(at: string, says: string) {
    super(writeSentence(`\`parameters${shorten(at, PLACE_CHARACTERS_MAX)}\` ${says}`));
  }
}

/** One sentence on one line, although it quotes names and words of whoever wrote the schema. */
export function writeSentence(text: string): string {
  return writeOneLine(`${shorten(text.replace(/\.$/, ""), SENTENCE_CHARACTERS_MAX)}.`);
}

/** The place of a field or item inside another place. */
export function stepInto(at: string, name: string | number): string {
  return `${at}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
