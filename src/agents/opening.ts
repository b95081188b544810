// Opens the agent service on its door.
import type { Door } from "../http/index.ts";
import type { Service } from "../platform/service.ts";
import type { Around } from "./around.ts";
import { createRetention } from "./retention.ts";
import { createRunsAround } from "./runs/around.ts";
import { openRunRoutes } from "./runs/routes.ts";
import { createStarting } from "./runs/starting.ts";
import { openEventRoute } from "./runs/stream/routes.ts";
import { createStreams } from "./runs/stream/streams.ts";
import { openUsageRoute } from "./usage/routes.ts";

export interface Agents {
  /** In the order of their start: in front of the entrance, so that they stop behind it. */
  services: readonly Service[];
  /** Started behind the entrance: their streams end before it waits for its connections. */
  listening: readonly Service[];
}

export function openAgents(door: Door, around: Around): Agents {
  const runsAround = createRunsAround(around);
  const { runs } = runsAround;
  const { database, access, clock, log } = around;
  const priceOf = (tool: string) => {
    const { tool_prices } = around.settings().agents;
    return Object.hasOwn(tool_prices, tool) ? tool_prices[tool]! : null;
  };
  const starting = createStarting(around, { runs, priceOf });
  const streams = createStreams({ runs, database, findCaller: access.findCaller, clock, log });
  openUsageRoute(door, around);
  openRunRoutes(door, runsAround, starting);
  openEventRoute(door, runsAround, streams);
  return { services: [createRetention(around)], listening: [streams.service] };
}
