// Opens triggers on the door of the agent service: their routes, and what goes on behind them.
import type { Router } from "../http/index.ts";
import type { Service } from "../platform/service.ts";
import { createArchivedAgentsWatch } from "./archived-agents.ts";
import type { TriggersDeps } from "./deps.ts";
import { openFireRoutes } from "./fire-routes.ts";
import { createFireRun } from "./fire-run.ts";
import { openHook } from "./hook/route.ts";
import { openTriggerRoutes } from "./routes.ts";
import { createScheduler } from "./scheduler.ts";
import { triggerStore } from "./store/index.ts";
import { createTriggers } from "./triggers.ts";

export interface TriggersModule {
  /** In the order of their start: in front of the entrance, so that they stop behind it. */
  services: readonly Service[];
}

/** agents.does.trigger */
export function createTriggersModule(door: Router, deps: TriggersDeps): TriggersModule {
  const { database, access, prepareRun, clock, ids } = deps;
  const { findCaller } = access;
  const store = database.bind(triggerStore);
  const fire = createFireRun({ triggers: store, findCaller, prepareRun, clock, ids });
  const triggers = createTriggers(deps);
  openTriggerRoutes(door, triggers, deps);
  openFireRoutes(door, triggers, fire, deps.disk);
  openHook(door, fire, deps);
  const timekeeper = createScheduler({ ...deps, fire });
  return { services: [createArchivedAgentsWatch(deps), timekeeper] };
}
