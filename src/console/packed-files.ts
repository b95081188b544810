// The console's files as bytes, compressed once: where the executable is built.
import type { ConsoleFiles } from "./bundle.ts";

type PackedFiles = Record<keyof ConsoleFiles, Uint8Array<ArrayBuffer>>;

/** Smaller by a twentieth than the level 9 of zlib, and slower. */
const SMALLEST = { library: "libdeflate", level: 12 } as const;
const LENGTH_BYTES = 4;

/** Packs each file compressed, behind its length. */
export function packFiles({ page, later, arabic }: ConsoleFiles): Uint8Array<ArrayBuffer> {
  const parts = [page, later, arabic].flatMap((text) => {
    const packed = Bun.gzipSync(text, SMALLEST);
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32BE(packed.length);
    return [length, packed];
  });
  return new Uint8Array(Buffer.concat(parts));
}

export function unpackFiles(bytes: Uint8Array<ArrayBuffer>): PackedFiles {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  let at = 0;
  const take = () => {
    const from = at + LENGTH_BYTES;
    at = from + view.getUint32(at);
    return bytes.slice(from, at);
  };
  return { page: take(), later: take(), arabic: take() };
}
