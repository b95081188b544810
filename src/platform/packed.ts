// Texts that the executable holds packed by scripts/packer.ts; from the sources they are plain.

/** First byte of a packed text. */
const PACKED = 0;

export function unpackText(bytes: Uint8Array): string {
  const text = bytes[0] === PACKED ? Bun.zstdDecompressSync(bytes.subarray(1)) : bytes;
  return new TextDecoder().decode(text);
}
