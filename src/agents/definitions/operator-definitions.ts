// Creation of agents by operators, on a database that a server may be using.
import type { Caller } from "../../access/index.ts";
import { createModelCheck } from "../../gateway/index.ts";
import type { OperatorStartsOptions } from "../runs/operator-starts.ts";
import { createShownCatalog, createToolLookup } from "../tools/catalog.ts";
import { toolStore } from "../tools/http/store.ts";
import { Definitions } from "./definitions.ts";
import type { NewAgent } from "./input.ts";
import type { FoundAgent } from "./store.ts";

/** The agent belongs to the caller; throws what the route of creation answers with. */
export function createOperatorDefinitions(options: OperatorStartsOptions) {
  const { database, settings } = options;
  const current = () => settings;
  const tools = database.bind(toolStore);
  const definitions = new Definitions(
    {
      ...options,
      settings: current,
      alias: settings.service.alias,
      internal: { chat: createModelCheck(database, settings) },
    },
    createToolLookup({ tools, catalog: createShownCatalog(), settings: current }),
  );
  return (agent: NewAgent, caller: Caller): Promise<FoundAgent> =>
    definitions.create(agent, caller);
}
