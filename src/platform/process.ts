// The process itself: put in order before anything else is loaded, and its two ways to speak.
import { writeSync } from "node:fs";
import { dropProxyVariables } from "./proxy.ts";

/** Variables with which whoever starts the program could make Bun run something else inside it. */
const REFUSED = ["BUN_OPTIONS", "BUN_BE_BUN", "NODE_OPTIONS"];
/** Whoever shares our end of a pipe or a terminal may have made it refuse instead of wait. */
const RETRY_EVERY_MS = 1;

export const STDOUT = 1;
export const STDERR = 2;

/** Returns once all is in order, or exits with a sentence. */
export function prepareProcess(): void {
  const refused = REFUSED.find((name) => process.env[name]);
  if (refused) {
    writeText(
      STDERR,
      `wadi: ${refused} is set, which could load foreign code into this program: unset it\n`,
    );
    process.exit(1);
  }
  dropProxyVariables(process.env);
  // What the program keeps is nobody else's to read.
  process.umask(0o077);
}

/** Writes the whole text before it returns; a reader who has gone away has read enough. */
export function writeText(descriptor: typeof STDOUT | typeof STDERR, text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (failure) {
      const { code } = failure as NodeJS.ErrnoException;
      if (code === "EPIPE") return;
      if (code !== "EAGAIN") throw failure;
      Bun.sleepSync(RETRY_EVERY_MS);
    }
  }
}
