// Reads a secret from standard input: never an argument, which other users and a history would see.
import type { Output } from "./output.ts";
import { UsageProblem } from "./verb.ts";

/** More than any secret may have, with a line break behind it. */
const BYTES_MAX = 16 * 1024;
const LINE_END = /[\r\n]/;
const INTERRUPT = "\u0003";
const ERASE = "\u007f";

/** One line break at the end, as `echo` writes it, belongs to no secret. */
export async function readSecret(output: Pick<Output, "say">): Promise<string> {
  const { stdin } = process;
  const text = stdin.isTTY ? await readHidden(output) : await readAll(Bun.stdin.stream());
  const secret = text.replace(/\r?\n$/, "");
  if (secret !== "") return secret;
  throw new UsageProblem("no secret came on standard input: end the command with `< FILE`");
}

export async function readAll(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > BYTES_MAX) throw new UsageProblem(`a secret has at most ${BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** A line that is typed, and not shown. */
async function readHidden({ say }: Pick<Output, "say">): Promise<string> {
  const { stdin } = process;
  say("type the secret, which is not shown, then Enter:");
  stdin.setRawMode(true);
  let line = "";
  try {
    for await (const chunk of stdin) {
      for (const key of String(chunk)) {
        if (LINE_END.test(key)) return line;
        if (key === INTERRUPT) throw new UsageProblem("given up");
        line = key === ERASE ? line.slice(0, -1) : line + key;
        if (line.length > BYTES_MAX) throw new UsageProblem("the secret is too long");
      }
    }
    return line;
  } finally {
    stdin.setRawMode(false);
  }
}
