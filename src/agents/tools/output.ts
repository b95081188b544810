// What becomes of a tool's result before it is stored: text that a database takes, cut to a bound.

/** More than that is cut for the model … */
const SHOWN_BYTES_MAX = 64 * 1024;
/** … or, of a run that was told very much already, more than that. */
const SHOWN_BYTES_LITTLE = 4 * 1024;
/** And more than that is kept for nobody. */
const WHOLE_BYTES_MAX = 1024 * 1024;
/** The end tells how something came out; the rest of the room is the head's, less the mark's. */
const TAIL_SHARE = 0.25;
const MARK_BYTES_MAX = 512;

export interface CutOutput {
  /** What the model is told. */
  shown: string;
  /** What `read_output` reads; null: what is shown is the whole. */
  whole: string | null;
  truncated: boolean;
}

/** What there is room for; a run has 200 rounds of 32 calls, and each could bring a megabyte. */
export interface OutputLimits {
  /** false: very much was told already, and results are shown by a few words. */
  isWide: boolean;
  /** false: what is cut out is kept for nobody. */
  keepsWhole: boolean;
}
const WIDE: OutputLimits = { isWide: true, keepsWhole: true };

/**
 * A result as it is stored. `tool_call_id`: by it the model reads on, where the agent has
 * `read_output`; null: it has not.
 */
export function cutOutput(
  content: string,
  tool_call_id: string | null,
  { isWide, keepsWhole }: OutputLimits = WIDE,
): CutOutput {
  const text = cleanText(content);
  const bytes_max = isWide ? SHOWN_BYTES_MAX : SHOWN_BYTES_LITTLE;
  // No character has more than three bytes for each of its UTF-16 units.
  if (text.length * 3 <= bytes_max) return { shown: text, whole: null, truncated: false };
  const bytes = Buffer.from(text);
  if (bytes.length <= bytes_max) return { shown: text, whole: null, truncated: false };
  const kept = bytes.subarray(0, findCut(bytes, WHOLE_BYTES_MAX));
  const tailBytes = bytes_max * TAIL_SHARE;
  const head = readBytes(kept, 0, bytes_max - tailBytes - MARK_BYTES_MAX);
  const tail = readBytes(kept, kept.length - tailBytes, kept.length);
  const mark = writeMark({
    head,
    tail,
    kept,
    lostBytes: bytes.length - kept.length,
    tool_call_id: keepsWhole ? tool_call_id : null,
  });
  const whole = keepsWhole ? kept.toString() : null;
  return { shown: head + mark + tail, whole, truncated: true };
}

/** Well-formed text without NUL: neither can be stored, nor sent as UTF-8. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd");
}

interface Cut {
  head: string;
  tail: string;
  kept: Buffer;
  /** What is kept for nobody. */
  lostBytes: number;
  tool_call_id: string | null;
}

function writeMark({ head, tail, kept, lostBytes, tool_call_id }: Cut): string {
  const offset = countCodePoints(head);
  const between = countCodePoints(kept.toString()) - offset - countCodePoints(tail);
  const sentences = [`${between} characters are left out here, from character ${offset} on.`];
  if (tool_call_id !== null) {
    sentences.push(
      `read_output with tool_call_id "${tool_call_id}" and offset ${offset} reads them.`,
    );
  }
  if (lostBytes > 0) sentences.push(`The last ${lostBytes} bytes of the result were not kept.`);
  return `\n\n[… ${sentences.join(" ")} …]\n\n`;
}

function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function readBytes(bytes: Buffer, from: number, to: number): string {
  return bytes.toString("utf8", findCut(bytes, from), findCut(bytes, to));
}

/** The end of the last whole character at or before that byte. */
function findCut(bytes: Buffer, at: number): number {
  if (at >= bytes.length) return bytes.length;
  let cut = at;
  // 10xxxxxx stands inside a character.
  while (cut > 0 && (bytes[cut]! & 0xc0) === 0x80) cut--;
  return cut;
}
