// The Worker's side of compute: carries out one task at a time, and says what came of it.
import type { Computation } from "./task.ts";

/** Posted to a Worker: data only, for they are copied. */
export interface ComputeOrder {
  task: string;
  input: unknown;
}

/** Posted by a Worker. An Error would lose its fields on the way. */
export type ComputeReply = { value: unknown } | { bug: { message: string; stack?: string } };

/** Called by the executable's entry point for compute Workers. */
export function serveComputations(computations: readonly Computation[]): void {
  const port = globalThis as unknown as {
    postMessage(message: ComputeReply): void;
    onmessage: ((event: { data: ComputeOrder }) => void) | null;
  };
  const known = new Map(computations.map((one) => [one.name, one]));
  port.onmessage = async ({ data: { task, input } }) => {
    try {
      const computation = known.get(task);
      if (!computation) throw new Error(`there is no computation ${task}`);
      port.postMessage({ value: await computation.run(input) });
    } catch (error) {
      const { message, stack } = error as Error;
      port.postMessage({ bug: { message, stack } });
    }
  };
}
