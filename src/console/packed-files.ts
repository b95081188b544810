// The console's files as the executable holds them: one text, compressed where it is built.
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";

/** Texts of the files that a browser loads. */
export interface ConsoleFiles {
  page: string;
  later: string;
  arabic: string;
}

/** Stands in no file. */
const BETWEEN = "\0";

export function packFiles({ page, later, arabic }: ConsoleFiles): Uint8Array {
  const params = { [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS };
  return brotliCompressSync([page, later, arabic].join(BETWEEN), { params });
}

export function unpackFiles(bytes: Uint8Array): ConsoleFiles {
  const [page, later, arabic] = brotliDecompressSync(bytes).toString().split(BETWEEN);
  return { page: page!, later: later!, arabic: arabic! };
}

/** Writes the digest that policies and `integrity` name. */
export const hashSource = (text: string): string =>
  `sha256-${new Bun.CryptoHasher("sha256").update(text).digest("base64")}`;
