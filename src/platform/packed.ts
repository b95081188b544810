// Texts that the executable holds packed by scripts/build.ts; from the sources they are plain.

const GZIP_BEGIN = 0x1f;

export function unpackText(bytes: Uint8Array<ArrayBuffer>): string {
  return new TextDecoder().decode(bytes[0] === GZIP_BEGIN ? Bun.gunzipSync(bytes) : bytes);
}
