// All model servers that the gateway starts; models that are started alike share one.
import type { Process } from "../../cluster/index.ts";
import type { Database } from "../../database/index.ts";
import type { TrustedEgress } from "../../net/index.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log, LogFields } from "../../platform/log.ts";
import { type ModelSettings, nameUnit } from "../../settings/index.ts";
import { ManagedServer } from "./managed-server.ts";
import { createStartPlan, createStubPlan, type StartPlan, type StubServer } from "./start-plan.ts";
import { findUsualStart, type ManagedServerState, managedServerStore } from "./store.ts";

export interface ManagedServersOptions {
  database: Database;
  process: Pick<Process, "withLease">;
  egress: TrustedEgress;
  clock: Clock;
  log: Log;
}

export class ManagedServers {
  readonly #options: ManagedServersOptions;
  readonly #servers = new Map<string, ManagedServer>();
  readonly #stubs = new Map<string, StubServer>();
  #isKept = false;

  constructor(options: ManagedServersOptions) {
    this.#options = options;
  }

  open(model: ModelSettings): ManagedServer | null {
    const id = managedServerIdOf(model);
    if (id === null) return null;
    const { database, process, clock, log } = this.#options;
    const { isShared } = database;
    const [name, plan] = this.#plan(model);
    let server = this.#servers.get(id);
    if (server) server.follow(plan);
    else {
      const notes = database.bind(managedServerStore);
      server = new ManagedServer({ id, plan, clock, log, name, notes, process, isShared });
      server.keep(this.#isKept);
      this.#servers.set(id, server);
    }
    return server;
  }

  /** Stops no idle server while another process may use it. */
  keep(isKept: boolean): void {
    this.#isKept = isKept;
    for (const server of this.#servers.values()) server.keep(isKept);
  }

  #plan({ id, upstream }: ModelSettings): [LogFields, StartPlan] {
    const { clock, egress } = this.#options;
    if (upstream.kind === "stub") {
      const stub = this.#stubs.get(id) ?? { upAtMs: Number.POSITIVE_INFINITY };
      this.#stubs.set(id, stub);
      return [{ model: id }, createStubPlan(upstream.start_delay_ms, stub, clock)];
    }
    const start = upstream.start!;
    return [{ upstream: new URL(start.health).host }, createStartPlan(start, { egress, clock })];
  }
}

export interface ManagedServerStatus {
  /** `none`: the model needs none; `unknown`: no server has checked yet. */
  unit: "none" | "unknown" | ManagedServerState;
  start_ms: number | null;
  /** When it came into this state; null: unknown. */
  changed_at: number | null;
}

export function createManagedServerStatuses(database: Database) {
  const store = database.bind(managedServerStore);
  return {
    async read(): Promise<(model: ModelSettings) => ManagedServerStatus> {
      const rows = new Map((await store.list()).map((row) => [row.id, row]));
      return (model) => {
        const id = managedServerIdOf(model);
        if (id === null) return { unit: "none", start_ms: null, changed_at: null };
        const row = rows.get(id);
        const start_ms = row ? findUsualStart(row.recent_starts_ms) : null;
        const { state = "unknown", changed_at = null } = row ?? {};
        return { unit: state, start_ms, changed_at };
      };
    },
  };
}

function managedServerIdOf({ id, upstream }: ModelSettings): string | null {
  if (upstream.kind === "stub") {
    return upstream.start_delay_ms > 0 ? hash(JSON.stringify(["stub", id])) : null;
  }
  return upstream.start ? hash(nameUnit(upstream.start)) : null;
}

/** Hides addresses, which may hold secrets. */
function hash(name: string): string {
  return Bun.SHA256.hash(name, "hex") as string;
}
