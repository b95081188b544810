// The bounds of a caller's schema, held before anything is made of it.
import { findHarm } from "./soundness.ts";

export const TEXT_BYTES_MAX = 32 * 1024;
const DEPTH_MAX = 16;
/** Whatever can be a schema costs some ten microseconds until it is compiled. */
const PARTS_MAX = 500;

/** What is wrong with a schema as a value, as the end of a sentence; null: nothing. */
export function judgeSize(value: object): string | null {
  const harm = findHarm(value, { depth_max: DEPTH_MAX, parts_max: PARTS_MAX });
  if (harm !== null) return harm;
  const bytes = Buffer.byteLength(JSON.stringify(value));
  return bytes > TEXT_BYTES_MAX ? `must be at most ${TEXT_BYTES_MAX} bytes of JSON` : null;
}
