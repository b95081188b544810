// Runs compute tasks in the test's thread instead of Workers.
import { toolComputations } from "../../src/agents/tools/computations.ts";
import type { Computed, ComputeService } from "../../src/compute/index.ts";
import { tokenComputations } from "../../src/models/bundled-tokenizer/computations.ts";

const known = new Map([...toolComputations, ...tokenComputations].map((one) => [one.name, one]));

export const inlineCompute: ComputeService = {
  name: "compute",
  start() {},
  stop() {},
  async run<Input, Output>(
    { name }: { name: string },
    input: Input,
    { signal }: { signal?: AbortSignal },
  ): Promise<Computed<Output>> {
    if (signal?.aborted) return { ok: false, reason: "aborted" };
    // Cloned, as for a Worker.
    const value = await known.get(name)!.run(structuredClone(input));
    return { ok: true, value: structuredClone(value) as Output };
  },
};
