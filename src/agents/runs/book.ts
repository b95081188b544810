// Runs as the operator finds them, of whichever account.
import type { Bound, Database } from "../../platform/database/index.ts";
import type { RunRow } from "./run.ts";
import type { Status } from "./states.ts";
import type { StepRow } from "./step.ts";
import { runStore } from "./store/index.ts";

export interface BookFilter {
  account_id: string;
  /** null: of all its agents. */
  agent_id: string | null;
  /** null: in whatever status. */
  status: Status | null;
  limit: number;
}

export function createRunBook(database: Database) {
  const store: Bound<typeof runStore> = database.bind(runStore);
  const others = { thread_id: null, trigger_kind: null, before: null };
  const whenever = { created_after: null, created_before: null };
  return {
    /** Newest first. */
    list: (filter: BookFilter): Promise<RunRow[]> =>
      store.list({ ...filter, ...others, ...whenever }),
    find: (id: string): Promise<RunRow | undefined> => store.find(id, null),
    /** Where a run stands, at less than its whole costs; undefined: there is none of this id. */
    findStatus: async (id: string) => (await store.findStanding(id))?.status,
    /** The next steps behind a number, at most so many: of long ones fewer, and none at the end. */
    listSteps: (id: string, after_seq: number, limit: number): Promise<StepRow[]> =>
      store.listSteps(id, after_seq, limit),
  };
}
export type RunBook = ReturnType<typeof createRunBook>;
