// Reads a reply that is one JSON object, or a list of them: its last line is no answer.

/** What models put around it. */
const FENCE = /^```(?:json)?[ \t]{0,9}\r?\n/i;
const FENCE_END = "```";
/** A list of anything else is read as any other list is. */
const OBJECT = /^(?:\[\s{0,99})?\{/;
/** Parsed, two of such numbers may be one. */
const LONG_NUMBER = /\d{16}/;
const ANSWER = /^(?:final[ _-]?)?answer$/i;

/** What its field `answer` says, else all of it, whatever the order of its fields; null: none. */
export function readRecord(text: string): { answer: string } | { whole: string } | null {
  let plain = text.trim();
  if (FENCE.test(plain) && plain.endsWith(FENCE_END))
    plain = plain.replace(FENCE, "").slice(0, -FENCE_END.length).trim();
  if (!OBJECT.test(plain)) return null;
  try {
    const record: object = JSON.parse(plain);
    const field = Object.entries(record).findLast(([name]) => ANSWER.test(name));
    if (LONG_NUMBER.test(plain)) {
      return field ? null : { whole: plain.replace(/\s+/g, " ").toLowerCase() };
    }
    if (field && typeof field[1] !== "object") return { answer: String(field[1]) };
    return { whole: JSON.stringify(sortFields(field ? field[1] : record)).toLowerCase() };
  } catch {
    // No JSON, or nested without end.
    return null;
  }
}

function sortFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortFields);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(fields.map(([name, one]) => [name, sortFields(one)]));
}
