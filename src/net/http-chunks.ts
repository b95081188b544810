// Takes the framing out of a chunked body, wherever its bytes are cut.

export interface ChunkReader {
  /**
   * Moves what belongs to the body together, within these bytes, and returns it; null: the framing
   * is broken. Reading begins at `from`.
   */
  take(bytes: Buffer, from: number): Buffer | null;
  /** The body is whole. */
  readonly isDone: boolean;
  /** Where the reading of the last bytes ended: behind them, or behind the body. */
  readonly end: number;
}

/** Ten hexadecimal digits are a terabyte. */
const DIGITS_MAX = 10;
/** What may stand between two pieces of data: extensions, or all trailers together. */
const FRAMING_BYTES_MAX = 16_384;

const LF = 0x0a;
const CR = 0x0d;

/** Makes a reader for one body. */
export function createChunkReader(): ChunkReader {
  /** The line that is read; or the data, of which `size` bytes are still to come. */
  let part: "size" | "data" | "data end" | "trailers" | "done" = "size";
  let size = 0;
  let digits = 0;
  let isExtended = false;
  /** True behind a CR, which only an LF may follow. */
  let isHalved = false;
  let isLineEmpty = true;
  let framingBytes = 0;
  let at = 0;

  /** One byte of the framing; false: it must not stand here. */
  const takeByte = (byte: number): boolean => {
    if (byte === LF) return endLine();
    if (isHalved || ++framingBytes > FRAMING_BYTES_MAX) return false;
    isHalved = byte === CR;
    if (isHalved) return true;
    isLineEmpty = false;
    if (part === "size" && !isExtended) return takeDigit(byte);
    return part !== "data end" && isText(byte);
  };
  /** Extensions are read over: nobody has a use for them. */
  const takeDigit = (byte: number): boolean => {
    const digit = readDigit(byte);
    if (digit === -1) {
      isExtended = digits > 0 && (byte === 0x3b || byte === 0x20 || byte === 0x09);
      return isExtended;
    }
    size = size * 16 + digit;
    return ++digits <= DIGITS_MAX;
  };
  const endLine = (): boolean => {
    if (part === "data end") part = "size";
    else if (part === "trailers") {
      if (isLineEmpty) part = "done";
    } else {
      if (digits === 0) return false;
      part = size > 0 ? "data" : "trailers";
      digits = 0;
      framingBytes = 0;
      isExtended = false;
    }
    isHalved = false;
    isLineEmpty = true;
    return true;
  };
  return {
    take(bytes, from) {
      let start = from;
      let filled = from;
      at = from;
      while (at < bytes.length && part !== "done") {
        if (part !== "data") {
          if (!takeByte(bytes[at++]!)) return null;
          continue;
        }
        const end = Math.min(bytes.length, at + size);
        // The first piece stays where it lies: most often it is the only one.
        if (filled === start) start = filled = at;
        if (filled !== at) bytes.copyWithin(filled, at, end);
        filled += end - at;
        size -= end - at;
        at = end;
        if (size === 0) part = "data end";
      }
      return bytes.subarray(start, filled);
    },
    get isDone() {
      return part === "done";
    },
    get end() {
      return at;
    },
  };
}

function readDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

function isText(byte: number): boolean {
  return (byte >= 0x20 && byte !== 0x7f) || byte === 0x09;
}
