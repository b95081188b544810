// Texts of this folder: the executable holds them packed by scripts/build.ts.

const GZIP_BEGIN = 0x1f;

export async function readPacked(file: string): Promise<string> {
  const bytes = await Bun.file(file).bytes();
  return new TextDecoder().decode(bytes[0] === GZIP_BEGIN ? Bun.gunzipSync(bytes) : bytes);
}
