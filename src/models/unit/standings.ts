// Units as the operator sees them: how each was left, and what was learned of its starts.
import type { Database } from "../../platform/database/index.ts";
import type { ModelSettings } from "../../platform/settings/index.ts";
import { learnStart, type UnitState, unitStore } from "./store.ts";
import { unitIdOf } from "./units.ts";

export interface UnitStanding {
  /** `none`: the model needs none; `unknown`: no server has looked yet. */
  unit: "none" | "unknown" | UnitState;
  /** How long its starts usually take; null: it was never started. */
  start_ms: number | null;
}

export function createUnitStandings(database: Database) {
  const store = database.bind(unitStore);
  return {
    /** How the unit of each model stands. */
    async read(): Promise<(model: ModelSettings) => UnitStanding> {
      const rows = new Map((await store.list()).map((row) => [row.id, row]));
      return (model) => {
        const id = unitIdOf(model);
        if (id === null) return { unit: "none", start_ms: null };
        const row = rows.get(id);
        return { unit: row?.state ?? "unknown", start_ms: row ? learnStart(row) : null };
      };
    },
  };
}
export type UnitStandings = ReturnType<typeof createUnitStandings>;
