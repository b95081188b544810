// What is wrong with a caller's JSON Schema, and where.

const SENTENCE_CHARACTERS_MAX = 500;

/** Thrown while a schema is read; its message is a whole sentence for the caller. */
export class SchemaFault extends Error {
  /** `at`: the place as a JSON pointer; empty: the schema as a whole. */
  constructor(at: string, says: string) {
    const place = at === "" ? "" : ` at ${at}`;
    super(cutSentence(`\`parameters\`${place} ${says}.`));
  }
}

function cutSentence(text: string): string {
  if (text.length <= SENTENCE_CHARACTERS_MAX) return text;
  return `${text.slice(0, SENTENCE_CHARACTERS_MAX - 1).toWellFormed()}…`;
}

/** The place of a field or item inside another place. */
export function stepInto(at: string, name: string | number): string {
  return `${at}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
