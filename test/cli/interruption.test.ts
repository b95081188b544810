// Tests the end of commands by signals.
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { CommandInput } from "../../src/cli/command.ts";
import { interruptible } from "../../src/cli/interruption.ts";
import type { Output } from "../../src/cli/output.ts";

const run = (work: (signal: AbortSignal) => Promise<number>) =>
  interruptible((_input, _output, signal) => work(signal))(
    ...([{} as CommandInput, {} as Output, {} as never] as const),
  );

const NAMES = ["SIGINT", "SIGTERM"] as const;
// A client that another file has loaded ends the process at a signal.
let foreign: { name: (typeof NAMES)[number]; listener: NodeJS.SignalsListener }[] = [];
beforeEach(() => {
  foreign = NAMES.flatMap((name) =>
    (process.listeners(name) as NodeJS.SignalsListener[]).map((listener) => ({ name, listener })),
  );
  for (const { name, listener } of foreign) process.off(name, listener);
});
afterEach(() => {
  for (const { name, listener } of foreign) process.on(name, listener);
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("%s aborts a command, which ends with %d once it has tidied up", async (name, code) => {
  const aborted = Promise.withResolvers<void>();
  let isTidy = false;
  const ended = run(async (signal) => {
    signal.addEventListener("abort", () => aborted.resolve(), { once: true });
    process.kill(process.pid, name);
    try {
      await aborted.promise;
      signal.throwIfAborted();
      return 0;
    } finally {
      // A second signal ends the program at once.
      expect(NAMES.map((one) => process.listenerCount(one))).toEqual([0, 0]);
      await Bun.file(import.meta.path).exists();
      isTidy = true;
    }
  });
  expect([await ended, isTidy]).toEqual([code, true]);
  expect(process.listenerCount(name)).toBe(0);
});

test("without a signal a command returns or throws what it did", async () => {
  expect(await run(async () => 1)).toBe(1);
  const failed = run(() => Promise.reject(new Error("refused")));
  expect(await failed.catch(({ message }) => message)).toBe("refused");
  expect(process.listenerCount("SIGINT")).toBe(0);
});
