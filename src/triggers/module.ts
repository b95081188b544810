// Wires the triggers module: routes on the agent service, and background services.
import type { Router } from "../http/index.ts";
import type { Service } from "../platform/service.ts";
import { ArchivedAgentsWatch } from "./archived-agents.ts";
import type { TriggersDeps } from "./deps.ts";
import { createFireRun } from "./fire-run.ts";
import { openHook } from "./hook.ts";
import { openFireRoutes, openTriggerRoutes } from "./routes.ts";
import { Scheduler } from "./scheduler.ts";
import { triggerStore } from "./store/index.ts";
import { Triggers } from "./triggers.ts";

export interface TriggersModule {
  /** Started before the server listens, so that they stop after it. */
  services: readonly Service[];
}

/** agents.does.trigger */
export function createTriggersModule(router: Router, deps: TriggersDeps): TriggersModule {
  const { database, access, prepareRun, clock, ids } = deps;
  const { findCaller } = access;
  const store = database.bind(triggerStore);
  const fire = createFireRun({ triggers: store, findCaller, prepareRun, clock, ids });
  const triggers = new Triggers(deps);
  openTriggerRoutes(router, triggers, deps);
  openFireRoutes(router, triggers, fire, deps.disk);
  openHook(router, fire, deps);
  return { services: [new ArchivedAgentsWatch(deps), new Scheduler({ ...deps, fire })] };
}
