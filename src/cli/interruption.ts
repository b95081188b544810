// The end of a command by SIGINT or SIGTERM, which removes what it was writing first.
import type { Command, CommandInput } from "./command.ts";
import type { Output } from "./output.ts";

/** Exit codes of a program that the signal has ended. */
const CODES = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Gives a command a signal that aborts on the first SIGINT or SIGTERM. The next one ends the
 * program at once.
 */
export function interruptible(
  run: (input: CommandInput, output: Output, signal: AbortSignal) => Promise<number>,
): Command["run"] {
  return async (input, output) => {
    const interruption = new AbortController();
    let code: number | null = null;
    const end = (name: keyof typeof CODES) => {
      code = CODES[name];
      stopListening();
      interruption.abort(new Error(`interrupted by ${name}`));
    };
    const names = ["SIGINT", "SIGTERM"] as const;
    const stopListening = () => {
      for (const name of names) process.off(name, end);
    };
    for (const name of names) process.on(name, end);
    try {
      return await run(input, output, interruption.signal);
    } catch (failure) {
      if (code === null) throw failure;
      return code;
    } finally {
      stopListening();
    }
  };
}
