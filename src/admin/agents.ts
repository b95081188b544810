// Agents of every account: list, hold, release.
import { Type } from "@sinclair/typebox";
import type { Access, Account, HoldRow } from "../access/index.ts";
import type { AgentQueries } from "../agents/index.ts";
import type { Clock } from "../platform/clock.ts";
import { maybe, Resource, Timestamp } from "../platform/schema.ts";
import { nameAccounts } from "./accounts.ts";
import { AdminError, readId } from "./errors.ts";

export const ListedAgent = Resource("ListedAgent", {
  id: Type.String({ description: "Identifier." }),
  account: Type.String({ description: "The owner's name." }),
  name: Type.String({ description: "For people." }),
  slug: Type.String({ description: "Unique per owner." }),
  status: Type.String({ description: "`active` or `archived`." }),
  current_version: Type.Integer({ description: "The version that new runs use." }),
  created_at: Timestamp("When it was created."),
  held: maybe(Type.String({ description: "`agent` or `account`: what is held; null: neither." })),
  held_since: maybe(Timestamp("When the hold began; null: it is not held.")),
  hold_reason: maybe(Type.String({ description: "Why it is held; null: no reason was given." })),
});

export interface AgentAdminOptions {
  access: Pick<Access, "accounts" | "holds">;
  agents: AgentQueries;
  clock: Clock;
  requireAccount(name: string): Promise<Account>;
}

export function createAgentAdmin({ access, agents, clock, requireAccount }: AgentAdminOptions) {
  const { holds } = access;
  return {
    /** Newest first. */
    async list(account: string | null) {
      const owner = account === null ? null : await requireAccount(account);
      const names = await nameAccounts(access);
      const found = await agents.list(owner?.id ?? null);
      return found.map(({ agent, hold }) => ({
        ...agent,
        account: names.get(agent.account_id)!,
        held: hold?.kind ?? null,
        held_since: hold?.since ?? null,
        hold_reason: hold?.reason ?? null,
      }));
    },
    /** Keeps its runs from starting; a second hold replaces the reason. */
    async hold(typed: string, reason: string | null): Promise<HoldRow> {
      const { id, account_id } = await requireAgent(agents, typed);
      return holds.hold({ kind: "agent", id, account_id, reason, since: clock.now() });
    },
    /** Starts the runs that wait, unless the account is held too. */
    async release(typed: string): Promise<{ id: string; was_held: boolean }> {
      const { id } = await requireAgent(agents, typed);
      return { id, was_held: await holds.release("agent", id) };
    },
  };
}

async function requireAgent(agents: AgentQueries, typed: string) {
  const id = readId(typed, "agent's id", "wadi agents list");
  const account_id = await agents.findOwner(id);
  if (account_id !== undefined) return { id, account_id };
  throw new AdminError(`there is no agent "${id}": see \`wadi agents list\``);
}
