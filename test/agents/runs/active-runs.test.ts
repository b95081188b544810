// Executions give back their slots, whatever those who hear of it do.
import { expect, test } from "bun:test";
import { createActiveRuns } from "../../../src/agents/runs/active-runs.ts";
import type { RunRow } from "../../../src/agents/runs/run.ts";
import { UNWATCHED } from "../../../src/cluster/watchdog/index.ts";

test("a bug behind the end of a run is told with the run, and the next one ends well", async () => {
  const lines: [string, object][] = [];
  const log = { error: (message: string, fields: object) => lines.push([message, fields]) };
  const bug = new Error("bug 7");
  let taken = 0;
  let over = 0;
  const both = Promise.withResolvers<void>();
  const executions = createActiveRuns({
    deps: { activity: UNWATCHED, log } as never,
    places: { take: () => taken++, give: () => taken-- } as never,
    perform: async () => "done",
    onOver() {
      over++;
      if (over === 2) both.resolve();
      if (over === 1) throw bug;
    },
  });
  for (const id of ["r-1", "r-2"]) executions.begin({ id } as RunRow);
  await both.promise;
  await Promise.resolve();
  expect([taken, executions.executing.size]).toEqual([0, 0]);
  expect(lines).toEqual([["the end of a run broke off", { run_id: "r-1", error: bug }]]);
});
