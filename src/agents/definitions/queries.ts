// Agents of every account, for operators.
import type { Bound, Database } from "../../database/index.ts";
import { agentStore, type HeldAgent } from "./store.ts";
import type { Policy } from "./version.ts";

export function createAgentQueries(database: Database) {
  const store: Bound<typeof agentStore> = database.bind(agentStore);
  return {
    list: (account_id: string | null): Promise<HeldAgent[]> => store.list(account_id),
    findOwner: (id: string): Promise<string | undefined> => store.findOwner(id),
    findName: async (id: string, account_id: string): Promise<string | undefined> =>
      (await store.find(id, account_id))?.agent.name,
    findPolicy: async (id: string, version: number): Promise<Policy | undefined> =>
      (await store.findVersion(id, version))?.policy,
  };
}
export type AgentQueries = ReturnType<typeof createAgentQueries>;
