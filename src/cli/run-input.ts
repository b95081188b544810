// Reads options by which runs are started and found.
import { IMAGE_TYPES, writeImage } from "../admin/index.ts";
import { type CommandInput, readList, UsageError } from "./command.ts";
import { readFile } from "./file-input.ts";

const ADDRESS = /^(?:[a-z][a-z0-9+.-]*:\/\/|data:)/i;
/** Bytes of all files of a run: base64 is longer by a third, and a request has at most 256 KiB. */
const IMAGE_BYTES_MAX = 180_000;

/** Reads the texts of `--metadata NAME=TEXT` by their names; undefined without any. */
export function readMetadata(input: CommandInput): Record<string, string> | undefined {
  const typed = readList(input, "metadata");
  if (typed.length === 0) return undefined;
  const texts = new Map<string, string>();
  for (const one of typed) {
    const end = one.indexOf("=");
    if (end < 1) throw new UsageError(`--metadata takes NAME=TEXT, but is "${one}"`);
    const name = one.slice(0, end);
    if (texts.has(name)) throw new UsageError(`--metadata has "${name}" twice`);
    texts.set(name, one.slice(end + 1));
  }
  return Object.fromEntries(texts);
}

/** Reads the addresses of `--image FILE|URL`, a file as a `data:` URL; undefined without any. */
export async function readImages(input: CommandInput): Promise<string[] | undefined> {
  const typed = readList(input, "image");
  if (typed.length === 0) return undefined;
  const addresses: string[] = [];
  let bytes = 0;
  for (const one of typed) {
    if (ADDRESS.test(one)) {
      addresses.push(one);
      continue;
    }
    const file = await readFile("image", one, IMAGE_BYTES_MAX);
    bytes += file.length;
    const address = writeImage(file);
    if (address === null) throw new UsageError(`--image ${one} is not ${IMAGE_TYPES}`);
    addresses.push(address);
  }
  if (bytes <= IMAGE_BYTES_MAX) return addresses;
  throw new UsageError(`the files of --image have at most ${IMAGE_BYTES_MAX} bytes together`);
}
