// Gathers the beginning of a body in one piece of memory, whatever pieces it comes in.

const FIRST_BYTES = 16_384;
/** Far above what Node's and Bun's buffers share a piece of memory for. */
const LARGE_BYTES = 65_536;

export interface BodyBuffer {
  /** Copies what may be kept, and empties a large buffer; false: there was more than that. */
  take(bytes: Uint8Array): boolean;
  /** What was kept. */
  read(): Uint8Array;
}

/**
 * Pieces are copied: one byte may lie in a buffer of half a megabyte, which would be kept, too.
 * `told` is the length that the body is said to have; null: it is not said.
 */
export function createBodyBuffer(bytes_max: number, told: () => number | null): BodyBuffer {
  let kept = new Uint8Array(0);
  let length = 0;
  const grow = (least: number) => {
    const size = Math.min(Math.max(least, 2 * kept.length, told() ?? FIRST_BYTES), bytes_max);
    const before = kept;
    kept = new Uint8Array(size);
    kept.set(before.subarray(0, length));
    giveBack(before);
  };
  return {
    take(bytes) {
      const end = Math.min(length + bytes.length, bytes_max);
      const fits = length + bytes.length <= bytes_max;
      if (end > kept.length) grow(end);
      kept.set(bytes.subarray(0, end - length), length);
      length = end;
      giveBack(bytes);
      return fits;
    },
    read: () => kept.subarray(0, length),
  };
}

/**
 * Frees the memory at once, where it is much: a fast server fills a hundred megabytes before it
 * would be collected.
 */
function giveBack({ buffer }: Uint8Array): void {
  if (buffer.byteLength >= LARGE_BYTES && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
