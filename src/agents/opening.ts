// Opens the agent service on its door: definitions, threads, runs, tools, and the engine behind.
import type { Door } from "../http/index.ts";
import type { Service } from "../platform/service.ts";
import type { Around } from "./around.ts";
import { openDefinitionRoutes } from "./definitions/routes.ts";
import { createEngine } from "./runs/engine.ts";
import { runStore } from "./runs/store/index.ts";
import { openThreadRoutes } from "./threads/routes.ts";
import { createBuiltins } from "./tools/builtin/builtins.ts";
import { createCatalog } from "./tools/catalog.ts";

export interface Agents {
  /** Starts in front of the entrance and stops behind it: what callers began is executed. */
  engine: Service;
  /** A stop has begun: no further round begins. */
  drain(): void;
}

export function openAgents(door: Door, around: Around): Agents {
  const store = around.database.bind(runStore);
  const tools = createCatalog(createBuiltins({ search: around.inside.search }));
  openDefinitionRoutes(door, around, { tools });
  openThreadRoutes(door, around);
  const engine = createEngine({ around, store, findTool: tools.find });
  return { engine, drain: engine.drain };
}
