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

/** Ids from the operating system's random source. */
export function createSystemIds(): Ids {
  return {
    uuid: () => Bun.randomUUIDv7(),
    token(length) {
      let text = "";
      while (text.length < length) {
        for (const byte of crypto.getRandomValues(new Uint8Array(length))) {
          if (byte < UNBIASED_BELOW && text.length < length) text += BASE62[byte % 62];
        }
      }
      return text;
    },
  };
}

/** A whole number written in base62, filled with zeros on the left to `length` places. */
export function writeBase62(number: number, length: number): string {
  let text = "";
  for (let rest = number; text.length < length; rest = Math.floor(rest / 62)) {
    text = BASE62[rest % 62] + text;
  }
  return text;
}
