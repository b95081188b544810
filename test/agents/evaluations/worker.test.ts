// Tests of what carries evaluations out, beside one that cannot go on.
import { expect, test } from "bun:test";
import { EvaluationWorker } from "../../../src/agents/evaluations/worker.ts";
import { createLog } from "../../../src/platform/log.ts";
import { createManualClock } from "../../support/clock.ts";

test("an evaluation that meets a bug holds up no other, and is tried again", async () => {
  const clock = createManualClock();
  const lines: Record<string, unknown>[] = [];
  const log = createLog(clock, (line) => void lines.push(JSON.parse(line)), false);
  const asked: string[] = [];
  const evaluations = {
    listRunning: async () => ["broken", "whole"],
    find: async (id: string) => {
      asked.push(id);
      if (id === "broken") throw new TypeError("a bug");
    },
  };
  const database = { listen: () => () => {} };
  const deps = { clock, log, database, evaluations };
  const worker = new EvaluationWorker(
    deps as unknown as ConstructorParameters<typeof EvaluationWorker>[0],
  );
  worker.start();
  await clock.advance(0);
  expect(asked).toEqual(["broken", "whole"]);
  expect(lines).toMatchObject([{ level: "error", evaluation_id: "broken" }]);
  await clock.advance(5_000);
  // The other one is over, since it is gone.
  expect(asked).toEqual(["broken", "whole", "broken"]);
  await worker.stop();
  expect(clock.pending()).toBe(0);
});
