// Opens the agent service on its door: definitions, threads, runs, tools, and the engine behind.
import type { Service } from "../platform/service.ts";
import type { Around } from "./around.ts";
import { createEngine } from "./runs/engine.ts";
import { runStore } from "./runs/store/index.ts";
import { createBuiltins } from "./tools/builtin/builtins.ts";
import { createCatalog } from "./tools/catalog.ts";

export interface Agents {
  /** In the order of their start: in front of the entrance, so that they stop behind it. */
  services: readonly Service[];
  /** A stop has begun: no further round begins. */
  drain(): void;
}

export function openAgents(around: Around): Agents {
  const store = around.database.bind(runStore);
  const catalog = createCatalog(createBuiltins({ search: around.inside.search }));
  const engine = createEngine({ around, store, findTool: catalog.find });
  return { services: [engine], drain: engine.drain };
}
