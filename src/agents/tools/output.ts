// Shortens a tool's result to what the model is shown and what is stored.

const SHOWN_BYTES_MAX = 64 * 1024;
/** Maximum bytes of a result in a run with much output already. */
const NARROW_BYTES_MAX = 4 * 1024;
const WHOLE_BYTES_MAX = 1024 * 1024;
/** Share of the tail, which often holds the outcome. */
const TAIL_SHARE = 0.25;
const MARK_BYTES_MAX = 512;

export interface CutOutput {
  shown: string;
  whole: string | null;
  truncated: boolean;
}

/** Limits that tighten in a long run, whose 6,400 calls could return a megabyte each. */
export interface OutputLimits {
  isWide: boolean;
  keepsWhole: boolean;
}
const WIDE: OutputLimits = { isWide: true, keepsWhole: true };

/** Shortens a result. The model reads on by `tool_call_id` where the agent has `read_output`. */
export function cutOutput(
  content: string,
  tool_call_id: string | null,
  { isWide, keepsWhole }: OutputLimits = WIDE,
): CutOutput {
  const text = cleanText(content);
  const bytesMax = isWide ? SHOWN_BYTES_MAX : NARROW_BYTES_MAX;
  // A UTF-16 unit takes at most three bytes.
  if (text.length * 3 <= bytesMax) return { shown: text, whole: null, truncated: false };
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return { shown: text, whole: null, truncated: false };
  const kept = bytes.subarray(0, findCut(bytes, WHOLE_BYTES_MAX));
  const tailBytes = bytesMax * TAIL_SHARE;
  const head = readBytes(kept, 0, bytesMax - tailBytes - MARK_BYTES_MAX);
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

/** Replaces lone surrogates and NUL, which databases and UTF-8 do not take. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd");
}

interface Cut {
  head: string;
  tail: string;
  kept: Buffer;
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

/** Counts without a copy the characters of a text without lone surrogates. */
export function countCodePoints(text: string): number {
  let count = text.length;
  // A high surrogate and its low one are a single character.
  for (let at = 0; at < text.length; at++) if ((text.charCodeAt(at) & 0xfc00) === 0xd800) count--;
  return count;
}

function readBytes(bytes: Buffer, from: number, to: number): string {
  return bytes.toString("utf8", findCut(bytes, from), findCut(bytes, to));
}

function findCut(bytes: Buffer, at: number): number {
  if (at >= bytes.length) return bytes.length;
  let cut = at;
  // Bytes 10xxxxxx continue a character.
  while (cut > 0 && (bytes[cut]! & 0xc0) === 0x80) cut--;
  return cut;
}
