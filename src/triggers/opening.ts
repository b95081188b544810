// Opens triggers on the door of the agent service: their routes, and what goes on behind them.
import type { Door } from "../http/index.ts";
import type { Service } from "../platform/service.ts";
import { createArchiving } from "./archiving.ts";
import type { Around } from "./around.ts";
import { openFireRoutes } from "./fire-routes.ts";
import { createFiring } from "./firing.ts";
import { openHook } from "./hook/route.ts";
import { openTriggerRoutes } from "./routes.ts";
import { triggerStore } from "./store/index.ts";
import { createTimekeeper } from "./timekeeper.ts";
import { createTriggers } from "./triggers.ts";

export interface OpenedTriggers {
  /** In the order of their start: in front of the entrance, so that they stop behind it. */
  services: readonly Service[];
}

/** agents.does.trigger */
export function openTriggers(door: Door, around: Around): OpenedTriggers {
  const { database, access, prepareRun, clock, ids } = around;
  const { findCaller } = access;
  const store = database.bind(triggerStore);
  const fire = createFiring({ triggers: store, findCaller, prepareRun, clock, ids });
  const triggers = createTriggers(around);
  openTriggerRoutes(door, triggers, around);
  openFireRoutes(door, triggers, fire, around.disk);
  openHook(door, fire, around);
  const timekeeper = createTimekeeper({ ...around, fire });
  return { services: [createArchiving(around), timekeeper] };
}
