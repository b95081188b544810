// Tasks on callers' texts, and the Worker's side of them: one at a time.

/** A computation that runs in a Worker and is cut off at its timeout. */
export interface ComputeTask<Input, Output> {
  name: string;
  /** Time limit of last resort: tasks on bounded inputs end long before it. */
  timeoutMs: number;
  /** Never set; carries the types of input and output. */
  input?: Input;
  output?: Output;
}

export interface Computation {
  name: string;
  run(input: unknown): Promise<unknown>;
}

export function implementTask<Input, Output>(
  { name }: ComputeTask<Input, Output>,
  run: (input: Input) => Promise<Output>,
): Computation {
  return { name, run: (input) => run(input as Input) };
}

export interface ComputeOrder {
  task: string;
  input: unknown;
}

/** Message from a Worker; an Error would lose its fields. */
export type ComputeReply = { value: unknown } | { bug: { message: string; stack?: string } };

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
