// Agents of every account: list, hold, release.
import { Type } from "@sinclair/typebox";
import type { HoldRow } from "../access/index.ts";
import { type AgentQueries, createAgentQueries } from "../agents/index.ts";
import { maybe, Resource, Timestamp } from "../platform/schema.ts";
import type { AccountDirectory } from "./accounts.ts";
import type { AdminDeps } from "./deps.ts";
import { requireById } from "./errors.ts";

export const ListedAgent = Resource("ListedAgent", {
  id: Type.String({ description: "Identifier." }),
  account: Type.String({ description: "The owner's name." }),
  name: Type.String({ description: "Name for people." }),
  slug: Type.String({ description: "Unique per owner." }),
  status: Type.String({ description: "`active` or `archived`." }),
  current_version: Type.Integer({ description: "Version of new runs." }),
  created_at: Timestamp("Time of creation."),
  held: maybe(Type.String({ description: "What is held: `agent`, `account` or nothing." })),
  held_since: maybe(Timestamp("Begin of the hold.")),
  hold_reason: maybe(Type.String({ description: "Reason of the hold." })),
});

export function createAgentAdmin(
  { access: { holds }, clock, database }: AdminDeps,
  directory: AccountDirectory,
) {
  const agents = createAgentQueries(database);
  return {
    async list(account: string | null) {
      return directory.list(account, async (accountId) => {
        const found = await agents.list(accountId);
        return found.map(({ agent, hold }) => ({
          ...agent,
          held: hold?.kind ?? null,
          held_since: hold?.since ?? null,
          hold_reason: hold?.reason ?? null,
        }));
      });
    },
    async hold(typed: string, reason: string | null): Promise<HoldRow> {
      const { id, account_id } = await requireAgent(agents, typed);
      return holds.hold({ kind: "agent", id, account_id, reason, since: clock.now() });
    },
    /** Returns undefined for an unknown agent. */
    async findHold(id: string): Promise<{ hold: HoldRow | undefined } | undefined> {
      const owner = await agents.findOwner(id);
      return owner === undefined ? undefined : { hold: await holds.find("agent", id) };
    },
    /** Starts the runs that wait, unless the account is held too. */
    async release(typed: string): Promise<{ id: string; wasHeld: boolean }> {
      const { id } = await requireAgent(agents, typed);
      return { id, wasHeld: await holds.release("agent", id) };
    },
  };
}

export function requireAgent(agents: AgentQueries, typed: string) {
  return requireById("agent", typed, async (id) => {
    const account_id = await agents.findOwner(id);
    return account_id === undefined ? undefined : { id, account_id };
  });
}

/** Adds the names of agents to rows of lists; each name is read once. */
export async function nameAgents<R extends { agent_id: string; account_id: string }>(
  agents: AgentQueries,
  rows: readonly R[],
): Promise<(R & { agent_name: string | null })[]> {
  const names = new Map<string, string | null>();
  for (const { agent_id, account_id } of rows) {
    if (names.has(agent_id)) continue;
    names.set(agent_id, (await agents.findName(agent_id, account_id)) ?? null);
  }
  return rows.map((row) => ({ ...row, agent_name: names.get(row.agent_id) ?? null }));
}
