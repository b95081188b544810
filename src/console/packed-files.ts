// The console's files as bytes, compressed once: where the executable is built.
import type { ConsoleFiles } from "./bundle.ts";

interface PackedFiles {
  page: Uint8Array<ArrayBuffer>;
  arabic: Uint8Array<ArrayBuffer>;
}

/** Smaller by a twentieth than the level 9 of zlib, and slower. */
const SMALLEST = { library: "libdeflate", level: 12 } as const;
const HEAD_BYTES = 4;

/** Packs the length of the compressed page, the page, and the Arabic table. */
export function packFiles({ page, arabic }: ConsoleFiles): Uint8Array<ArrayBuffer> {
  const [first, second] = [page, arabic].map((text) => Bun.gzipSync(text, SMALLEST));
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(first!.length);
  return new Uint8Array(Buffer.concat([head, first!, second!]));
}

export function unpackFiles(bytes: Uint8Array<ArrayBuffer>): PackedFiles {
  const end = HEAD_BYTES + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  return { page: bytes.slice(HEAD_BYTES, end), arabic: bytes.slice(end) };
}
