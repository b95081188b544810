// Runs of every account, for operators.
import type { Bound, Database } from "../../database/index.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Ids } from "../../platform/ids.ts";
import { threadStore } from "../threads/store.ts";
import { listCalls } from "./calls/logged-calls.ts";
import { compareRuns, type RunComparison } from "./compare.ts";
import { cancelRun } from "./deps.ts";
import { createRunOverview } from "./overview.ts";
import type { RunRow } from "./run.ts";
import type { StepRow } from "./step.ts";
import { runStore } from "./store/index.ts";
import type { RunMark } from "./store/marks.ts";

export interface RunQueriesOptions {
  database: Database;
  clock: Clock;
  ids: Ids;
}

export function createRunQueries({ database, clock, ids }: RunQueriesOptions) {
  const store: Bound<typeof runStore> = database.bind(runStore);
  const threads = database.bind(threadStore);
  return {
    ...createRunOverview(store),
    /** The newest runs of each agent, the newest first. */
    listMarks: (agent_ids: readonly string[], limit: number): Promise<RunMark[]> =>
      store.listMarks(agent_ids, limit),
    async compare(one: RunRow, other: RunRow): Promise<RunComparison> {
      const read = async (run: RunRow) => {
        return { run, calls: listCalls(await store.listSteps(run.id, 0, null)) };
      };
      return compareRuns(await read(one), await read(other));
    },
    find: (id: string): Promise<RunRow | undefined> => store.find(id, null),
    listFailures: store.listFailures,
    countStarted: store.countStarted,
    /** Tells whether the thread may have messages from before the run. */
    async hasEarlierMessages({ thread_id, account_id, ...run }: RunRow): Promise<boolean> {
      const thread = await threads.find(thread_id, account_id);
      if (!thread) return false;
      // The thread of a rerun begins with messages that are copied.
      const copied = run.rerun_of === null ? [] : await threads.listMessages(thread_id, 0, 1);
      return thread.created_at < run.created_at || copied.some(({ run_id }) => run_id !== run.id);
    },
    /** Images of its input that are stored. */
    listImages: store.listImages,
    /** Cheaper than `find`. */
    findStatus: async (id: string) => (await store.findPosition(id))?.status,
    /** Cancels a run, whose state decides how; undefined: it was deleted meanwhile. */
    cancel: (run: RunRow): Promise<RunRow | undefined> =>
      cancelRun({ runs: store, clock, ids }, run),
    /** Next steps, fewer than `limit` where they are long. */
    listSteps: (id: string, after_seq: number, limit: number): Promise<StepRow[]> =>
      store.listSteps(id, after_seq, limit),
  };
}
export type RunQueries = ReturnType<typeof createRunQueries>;
