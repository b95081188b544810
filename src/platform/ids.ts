// Fresh identifiers; injected, so that tests can seed them.

export interface Ids {
  uuid(): string;
  /** Makes a random base62 text for ids that are not UUIDs, such as `chatcmpl-…`. */
  token(length: number): string;
}

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** Bound of usable random bytes; others would favour the first letters of the alphabet. */
const UNBIASED_BELOW = 256 - (256 % 62);
/** Number of random bytes drawn at once: a system call for each id would cost more than the id. */
const DRAWN_BYTES = 4_096;

export function createSystemIds(): Ids {
  const drawn = new Uint8Array(DRAWN_BYTES);
  let next = drawn.length;
  const takeByte = (): number => {
    if (next === drawn.length) {
      crypto.getRandomValues(drawn);
      next = 0;
    }
    const byte = drawn[next]!;
    // Bytes of a secret must not stay in memory.
    drawn[next++] = 0;
    return byte;
  };
  return {
    uuid: () => Bun.randomUUIDv7(),
    token(length) {
      let text = "";
      while (text.length < length) {
        const byte = takeByte();
        if (byte < UNBIASED_BELOW) text += BASE62[byte % 62];
      }
      return text;
    },
  };
}

/** Id that no object has. */
export const NO_ID = "00000000-0000-0000-0000-000000000000";

/** Id before every UUIDv7 of that time or later. */
export function firstIdAt(time_ms: number): string {
  const digits = Math.max(0, time_ms).toString(16).padStart(12, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8)}-0000-0000-000000000000`;
}

const COUNTED_DIGITS = 12;

/**
 * Returns the id `by` steps after a fresh UUIDv7, for a caller that needs an unknown number of
 * ids. Only one caller may count on from the same id.
 */
export function countOn(id: string, by: number): string {
  const start = id.length - COUNTED_DIGITS;
  const counted = (Number.parseInt(id.slice(start), 16) + by) % 16 ** COUNTED_DIGITS;
  return id.slice(0, start) + counted.toString(16).padStart(COUNTED_DIGITS, "0");
}

/** Draws a fraction from 0 up to 1, to spread work that many would begin at once. */
export function drawFraction(ids: Pick<Ids, "token">): number {
  let fraction = 0;
  for (const letter of ids.token(3)) fraction = (fraction + BASE62.indexOf(letter)) / 62;
  return fraction;
}

export function writeBase62(number: number, length: number): string {
  let text = "";
  for (let rest = number; text.length < length; rest = Math.floor(rest / 62)) {
    text = BASE62[rest % 62] + text;
  }
  return text;
}
