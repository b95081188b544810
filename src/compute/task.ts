// A computation on a caller's text: what both threads call it, and what the Worker does for it.

/** What is named here is carried out in a Worker, and cut off after its time. */
export interface ComputeTask<Input, Output> {
  name: string;
  /** A last resort: inputs are bounded so that no honest one comes near it. */
  timeoutMs: number;
  /** Never set: they only tie a task to what it takes and gives. */
  input?: Input;
  output?: Output;
}

/** The Worker's side of a task. Its code is loaded at its first use. */
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
