// Creation of agents by operators, on a database that a server may be using.
import type { Caller } from "../../access/index.ts";
import { createOperatorDeps, type OperatorDepsOptions } from "../operator-deps.ts";
import { createShownCatalog, createToolLookup } from "../tools/catalog.ts";
import { toolStore } from "../tools/http/store/index.ts";
import { createSchemaCheck } from "../tools/json-schema/check.ts";
import { Definitions } from "./definitions.ts";
import type { NewAgent } from "./input.ts";
import type { FoundAgent } from "./store.ts";

/** The agent belongs to the caller; throws what the route of creation answers with. */
export function createOperatorDefinitions(options: OperatorDepsOptions) {
  const deps = createOperatorDeps(options);
  const { database, settings } = deps;
  const tools = database.bind(toolStore);
  const lookup = createToolLookup({ tools, catalog: createShownCatalog(), settings });
  const definitions = new Definitions(deps, lookup, createSchemaCheck(deps.compute));
  return (agent: NewAgent, caller: Caller): Promise<FoundAgent> =>
    definitions.create(agent, caller);
}
