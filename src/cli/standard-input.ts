// Texts and secrets from standard input, whole and up to a maximum.
import { UsageError } from "./command.ts";
import type { Output } from "./output.ts";

const SECRET_BYTES_MAX = 16 * 1024;
const LINE_END = /[\r\n]/;
const INTERRUPT = "\u0003";
const ERASE = "\u007f";

/** Drops one line break at the end, as `echo` writes it. */
export async function readSecret(output: Pick<Output, "say">): Promise<string> {
  const { stdin } = process;
  const text = stdin.isTTY
    ? await readHidden(output)
    : await readInput(SECRET_BYTES_MAX, "a secret");
  const secret = text.replace(/\r?\n$/, "");
  if (secret !== "") return secret;
  throw new UsageError("no secret came on standard input: end the command with `< FILE`");
}

export function readInput(bytesMax: number, what: string): Promise<string> {
  return readAll(Bun.stdin.stream(), bytesMax, what);
}

/** Reads a whole text; `what` names it in the refusal of a longer one. */
export async function readAll(
  ...input: [stream: AsyncIterable<Uint8Array>, bytesMax: number, what: string]
): Promise<string> {
  return (await readBytes(...input)).toString();
}

export async function readBytes(
  stream: AsyncIterable<Uint8Array>,
  bytesMax: number,
  what: string,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > bytesMax) throw new UsageError(`${what} has at most ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function readHidden({ say }: Pick<Output, "say">): Promise<string> {
  const { stdin } = process;
  say("type the secret, which is not shown, then Enter:");
  stdin.setRawMode(true);
  let line = "";
  try {
    for await (const chunk of stdin) {
      for (const key of String(chunk)) {
        if (LINE_END.test(key)) return line;
        if (key === INTERRUPT) throw new UsageError("given up");
        line = key === ERASE ? line.slice(0, -1) : line + key;
        if (line.length > SECRET_BYTES_MAX) throw new UsageError("the secret is too long");
      }
    }
    return line;
  } finally {
    stdin.setRawMode(false);
  }
}
