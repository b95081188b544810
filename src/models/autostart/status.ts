// Units as the operator sees them: how each was left, and what was learned of its starts.
import type { Database } from "../../database/index.ts";
import type { ModelSettings } from "../../settings/index.ts";
import { managedServerIdOf } from "./managed-servers.ts";
import { learnStart, type ManagedServerState, managedServerStore } from "./store.ts";

export interface ManagedServerStatus {
  /** `none`: the model needs none; `unknown`: no server has looked yet. */
  unit: "none" | "unknown" | ManagedServerState;
  /** How long its starts usually take; null: it was never started. */
  start_ms: number | null;
}

export function createManagedServerStatuses(database: Database) {
  const store = database.bind(managedServerStore);
  return {
    /** How the unit of each model stands. */
    async read(): Promise<(model: ModelSettings) => ManagedServerStatus> {
      const rows = new Map((await store.list()).map((row) => [row.id, row]));
      return (model) => {
        const id = managedServerIdOf(model);
        if (id === null) return { unit: "none", start_ms: null };
        const row = rows.get(id);
        return { unit: row?.state ?? "unknown", start_ms: row ? learnStart(row) : null };
      };
    },
  };
}
export type ManagedServerStatuses = ReturnType<typeof createManagedServerStatuses>;
