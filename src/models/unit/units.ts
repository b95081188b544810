// All units of the program: models that are started in the same way share one.
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/database/index.ts";
import type { TrustedEgress } from "../../platform/egress/index.ts";
import type { Log, LogFields } from "../../platform/log.ts";
import { type ModelSettings, nameUnit } from "../../platform/settings/index.ts";
import { planStub, planUnit, type StubServer } from "./actions.ts";
import type { UnitPlan } from "./plan.ts";
import { unitStore } from "./store.ts";
import { Unit } from "./unit.ts";

export interface UnitsOptions {
  database: Database;
  egress: TrustedEgress;
  clock: Clock;
  log: Log;
}

export function createUnits({ database, egress, clock, log }: UnitsOptions) {
  const notes = database.bind(unitStore);
  const units = new Map<string, Unit>();
  /** Those of stubs: they outlive a change of what is said of them. */
  const stubs = new Map<string, StubServer>();
  const findStub = (id: string): StubServer => {
    const known = stubs.get(id) ?? { up_at_ms: Number.POSITIVE_INFINITY };
    stubs.set(id, known);
    return known;
  };
  const read = ({ id, upstream }: ModelSettings): [LogFields, UnitPlan] => {
    if (upstream.kind === "stub") {
      return [{ model: id }, planStub(upstream.start_delay_ms, findStub(id), clock)];
    }
    const start = upstream.start!;
    return [{ upstream: new URL(start.health).host }, planUnit(start, { egress, clock })];
  };
  return {
    /** The unit of a model, which is the one of others that name the same; null: it needs none. */
    open(model: ModelSettings): Unit | null {
      const id = unitIdOf(model);
      if (id === null) return null;
      const known = units.get(id);
      const [name, plan] = read(model);
      if (known) known.follow(plan);
      else units.set(id, new Unit({ id, plan, clock, log, name, notes }));
      return units.get(id)!;
    },
  };
}
export type Units = ReturnType<typeof createUnits>;

/** The name by which what was learned of a model's unit is kept; null: it has none. */
export function unitIdOf({ id, upstream }: ModelSettings): string | null {
  if (upstream.kind === "stub") {
    return upstream.start_delay_ms > 0 ? hash(JSON.stringify(["stub", id])) : null;
  }
  return upstream.start ? hash(nameUnit(upstream.start)) : null;
}

/** An address may hold what nobody is to read in the database. */
function hash(name: string): string {
  return Bun.SHA256.hash(name, "hex") as string;
}
