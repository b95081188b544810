// Agents as the operator finds them, of whichever account.
import type { Bound, Database } from "../../platform/database/index.ts";
import { agentStore, type HeldAgent } from "./store.ts";

export function createAgentBook(database: Database) {
  const store: Bound<typeof agentStore> = database.bind(agentStore);
  return {
    /** Newest first; of one account, or of all where it is null. */
    list: (account_id: string | null): Promise<HeldAgent[]> => store.list(account_id),
    /** undefined: there is none of this id. */
    findOwner: (id: string): Promise<string | undefined> => store.findOwner(id),
    /** undefined: this account has none of this id. */
    findName: async (id: string, account_id: string): Promise<string | undefined> =>
      (await store.find(id, account_id))?.agent.name,
  };
}
export type AgentBook = ReturnType<typeof createAgentBook>;
