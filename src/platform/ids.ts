// Fresh identifiers and random bytes as a thing that is handed in, so that tests can seed them.

export interface Ids {
  /** A UUIDv7: ordered by the time it was made. */
  uuid(): string;
  /** A short random text of base62 for identifiers that are not UUIDs, such as `chatcmpl-…`. */
  token(length: number): string;
}

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** Bytes from here on would favour the first letters of the alphabet. */
const UNBIASED_BELOW = 256 - (256 % 62);

/** So many random bytes are drawn at once: asking the system for each id costs more than the id. */
const DRAWN_BYTES = 4_096;

/** Ids from the operating system's random source. */
export function createSystemIds(): Ids {
  const drawn = new Uint8Array(DRAWN_BYTES);
  let next = drawn.length;
  const takeByte = (): number => {
    if (next === drawn.length) {
      crypto.getRandomValues(drawn);
      next = 0;
    }
    const byte = drawn[next]!;
    // What made a secret does not stay in memory.
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

/** As long as any id, and that of nothing. */
export const NO_ID = "00000000-0000-0000-0000-000000000000";

/** The end of a UUID that is counted up, in hexadecimal digits. */
const COUNTED_DIGITS = 12;

/**
 * The id `by` places behind a fresh UUIDv7, for what does not know beforehand how many it needs: as
 * random as that one, and behind it in order. Nobody else may count on from the same.
 */
export function countOn(id: string, by: number): string {
  const start = id.length - COUNTED_DIGITS;
  const counted = (Number.parseInt(id.slice(start), 16) + by) % 16 ** COUNTED_DIGITS;
  return id.slice(0, start) + counted.toString(16).padStart(COUNTED_DIGITS, "0");
}

/** A fraction from 0 up to 1: what is done by many at once is done a little apart. */
export function drawFraction(ids: Pick<Ids, "token">): number {
  let fraction = 0;
  for (const letter of ids.token(3)) fraction = (fraction + BASE62.indexOf(letter)) / 62;
  return fraction;
}

/** A whole number written in base62, filled with zeros on the left to `length` places. */
export function writeBase62(number: number, length: number): string {
  let text = "";
  for (let rest = number; text.length < length; rest = Math.floor(rest / 62)) {
    text = BASE62[rest % 62] + text;
  }
  return text;
}
