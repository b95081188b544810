// Which runs an evaluation repeats where none are named.
import { expect, test } from "bun:test";
import { Evaluations } from "../../../src/agents/evaluations/evaluations.ts";

test("the newest 50 runs are repeated unless another number is asked", async () => {
  const asked: number[] = [];
  const evaluations = new Evaluations({
    runs: { findStartable: async () => ({ account_id: "a-1", current_version: 1 }) },
    findVersion: async () => ({}),
    evaluations: {
      async listRepeatable(_: string, limit: number) {
        asked.push(limit);
        return [];
      },
    },
  } as never);
  const starter = { account_id: "a-1", key_id: "k-1", operator: null };
  for (const last of [undefined, null, 7]) {
    await expect(evaluations.start(starter, "g-1", { last })).rejects.toThrow("no run");
  }
  expect(asked).toEqual([50, 50, 7]);
});
