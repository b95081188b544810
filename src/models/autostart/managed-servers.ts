// All units of the program: models that are started in the same way share one.

import type { Database } from "../../database/index.ts";
import type { TrustedEgress } from "../../net/index.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log, LogFields } from "../../platform/log.ts";
import { type ModelSettings, nameUnit } from "../../settings/index.ts";
import { createStartPlan, planStub, type StubServer } from "./actions.ts";
import { ManagedServer } from "./managed-server.ts";
import type { StartPlan } from "./plan.ts";
import { managedServerStore } from "./store.ts";

export interface ManagedServersOptions {
  database: Database;
  egress: TrustedEgress;
  clock: Clock;
  log: Log;
}

export function createManagedServers({ database, egress, clock, log }: ManagedServersOptions) {
  const notes = database.bind(managedServerStore);
  const units = new Map<string, ManagedServer>();
  /** Those of stubs: they outlive a change of what is said of them. */
  const stubs = new Map<string, StubServer>();
  const findStub = (id: string): StubServer => {
    const known = stubs.get(id) ?? { up_at_ms: Number.POSITIVE_INFINITY };
    stubs.set(id, known);
    return known;
  };
  const read = ({ id, upstream }: ModelSettings): [LogFields, StartPlan] => {
    if (upstream.kind === "stub") {
      return [{ model: id }, planStub(upstream.start_delay_ms, findStub(id), clock)];
    }
    const start = upstream.start!;
    return [{ upstream: new URL(start.health).host }, createStartPlan(start, { egress, clock })];
  };
  return {
    /** The unit of a model, which is the one of others that name the same; null: it needs none. */
    open(model: ModelSettings): ManagedServer | null {
      const id = managedServerIdOf(model);
      if (id === null) return null;
      const known = units.get(id);
      const [name, plan] = read(model);
      if (known) known.follow(plan);
      else units.set(id, new ManagedServer({ id, plan, clock, log, name, notes }));
      return units.get(id)!;
    },
  };
}
export type ManagedServers = ReturnType<typeof createManagedServers>;

/** The name by which what was learned of a model's unit is kept; null: it has none. */
export function managedServerIdOf({ id, upstream }: ModelSettings): string | null {
  if (upstream.kind === "stub") {
    return upstream.start_delay_ms > 0 ? hash(JSON.stringify(["stub", id])) : null;
  }
  return upstream.start ? hash(nameUnit(upstream.start)) : null;
}

/** An address may hold what nobody is to read in the database. */
function hash(name: string): string {
  return Bun.SHA256.hash(name, "hex") as string;
}
