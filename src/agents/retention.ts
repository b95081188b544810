// Retention of finished runs, published events and idempotency keys; sums and messages stay.
import { outboxStore } from "../outbox/index.ts";
import { type Sweep, sweepRows } from "../retention/index.ts";
import type { AgentsDeps } from "./deps.ts";
import { evaluationStore } from "./evaluations/store.ts";
import { runStore } from "./runs/store/index.ts";
import { IDEMPOTENCY_MS } from "./runs/store/start.ts";

/** Maximum runs of one write; each has many rows, and callers wait for the write. */
const RUNS_AT_ONCE = 10;

/** Maximum evaluations of one write; each has up to 500 rows. */
const EVALUATIONS_AT_ONCE = 2;

type SweepDeps = Pick<AgentsDeps, "database"> & {
  settings(): Pick<ReturnType<AgentsDeps["settings"]>, "retention">;
};

export function createRunSweeps({ database, settings }: SweepDeps): Sweep[] {
  const runs = database.bind(runStore);
  const evaluations = database.bind(evaluationStore);
  const outbox = database.bind(outboxStore);
  return [
    {
      what: "finished runs",
      async run(now, isStopping) {
        const keepMs = settings().retention.runs;
        if (keepMs === null) return 0;
        let rows = 0;
        for (let after: string | null = ""; after !== null && !(await isStopping()); ) {
          const swept = await runs.sweep(after, now - keepMs, RUNS_AT_ONCE);
          rows += swept.deleted;
          after = swept.afterId;
        }
        return rows;
      },
    },
    {
      what: "events",
      async run(now, isStopping) {
        const keepMs = settings().retention.events;
        if (keepMs === null) return 0;
        return sweepRows(isStopping, (limit) => outbox.sweep(now - keepMs, limit));
      },
    },
    {
      what: "keys of run starts",
      run: (now, isStopping) =>
        sweepRows(isStopping, (limit) => runs.sweepStarts(now - IDEMPOTENCY_MS, limit)),
    },
    {
      what: "evaluations",
      async run(now, isStopping) {
        const keepMs = settings().retention.runs;
        if (keepMs === null) return 0;
        let rows = 0;
        for (let swept = EVALUATIONS_AT_ONCE; swept === EVALUATIONS_AT_ONCE; rows += swept) {
          if (await isStopping()) break;
          swept = await evaluations.sweep(now - keepMs, EVALUATIONS_AT_ONCE);
        }
        return rows;
      },
    },
  ];
}
