// A process that dies between two transactions: from then on its store neither writes nor answers.
import type { RunStore } from "../../../src/agents/runs/journal.ts";

/** From its `writes_max`th write on, nothing of this process reaches the database. */
export function createCut(writes_max: number) {
  let writes = 0;
  const cut = { reached: Promise.withResolvers<void>() };
  const wrap = (store: RunStore): RunStore => {
    const guard =
      (method: keyof RunStore) =>
      async (...given: unknown[]) => {
        if (++writes > writes_max) {
          cut.reached.resolve();
          return new Promise<never>(() => undefined);
        }
        return (store[method] as (...all: unknown[]) => unknown)(...given);
      };
    const writing = ["plan", "settle", "note", "wait", "finish", "release", "claim"] as const;
    const guarded = Object.fromEntries(writing.map((method) => [method, guard(method)]));
    return { ...store, ...guarded, end: async () => undefined } as RunStore;
  };
  return { ...cut, wrap };
}
