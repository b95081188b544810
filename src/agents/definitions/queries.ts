// Agents of every account, for operators.
import type { Bound, Database } from "../../database/index.ts";
import { agentStore, type FoundAgent, type HeldAgent, type VersionLine } from "./store.ts";
import type { Policy, VersionRow } from "./version.ts";

export function createAgentQueries(database: Database) {
  const store: Bound<typeof agentStore> = database.bind(agentStore);
  return {
    list: (account_id: string | null): Promise<HeldAgent[]> => store.list(account_id),
    findOwner: (id: string): Promise<string | undefined> => store.findOwner(id),
    findName: async (id: string, account_id: string): Promise<string | undefined> =>
      (await store.find(id, account_id))?.agent.name,
    findPolicy: async (id: string, version: number): Promise<Policy | undefined> =>
      (await store.findVersion(id, version))?.policy,
    /** Finds an agent with its current version and its hold. */
    find: (id: string, account_id: string): Promise<FoundAgent | undefined> =>
      store.find(id, account_id),
    findVersion: (id: string, version: number): Promise<VersionRow | undefined> =>
      store.findVersion(id, version),
    /** The current version of each agent, without its texts. */
    listCurrent: (account_id: string | null): Promise<VersionLine[]> =>
      store.listCurrent(account_id),
    /** Versions without their texts, the newest first. */
    listVersions: (id: string, limit: number): Promise<VersionLine[]> => store.listLines(id, limit),
  };
}
export type AgentQueries = ReturnType<typeof createAgentQueries>;
