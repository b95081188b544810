// A compute Worker of tests, whose tasks succeed, run slowly, fail or kill it.
import { type ComputeTask, implementTask, serveComputations } from "../../src/compute/index.ts";

export const ECHO: ComputeTask<unknown, unknown> = { name: "echo", timeoutMs: 1_000 };
export const LOOP: ComputeTask<null, never> = { name: "loop", timeoutMs: 1_000 };
export const THROW: ComputeTask<string, never> = { name: "throw", timeoutMs: 1_000 };
export const EXIT: ComputeTask<null, never> = { name: "exit", timeoutMs: 1_000 };
export const COUNT: ComputeTask<null, number> = { name: "count", timeoutMs: 1_000 };

let count = 0;

// Tests import the tasks from here too.
if (!Bun.isMainThread) {
  serveComputations([
    implementTask(ECHO, async (input) => input),
    implementTask(COUNT, async () => ++count),
    implementTask(LOOP, async () => {
      for (;;) count += 0;
    }),
    implementTask(THROW, async (says) => {
      throw new Error(says);
    }),
    implementTask(EXIT, async () => process.exit(1)),
  ]);
}
