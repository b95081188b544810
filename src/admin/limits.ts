// Limits of accounts and keys: change them, and show them with their use.
import type { LimitChange, Limits, LimitUse } from "../access/index.ts";
import { type AccountDirectory, walkAccounts } from "./accounts.ts";
import type { AdminDeps } from "./deps.ts";
import { requireById } from "./errors.ts";

export function createLimitAdmin(
  { access, clock, database, settings }: AdminDeps,
  directory: AccountDirectory,
) {
  const { accounts, keys } = access;
  const show = async (kind: "account" | "key", id: string, limits: Limits | null) => {
    if (limits === null) return [];
    // The gateway is loaded only when it is needed.
    const { createLimitReader } = await import("../gateway/index.ts");
    const reader = createLimitReader(database, settings.service.zone);
    return reader.list(kind, id, limits, clock.now());
  };
  const requireKey = (typed: string) => requireById("key", typed, keys.findById);
  return {
    /** Lists the limits of every account that has some, by its name. */
    async listAccounts(): Promise<(LimitUse & { account: string })[]> {
      const found: (LimitUse & { account: string })[] = [];
      for await (const { id, name } of walkAccounts(await accounts.list())) {
        const uses = await show("account", id, await accounts.findLimits(id));
        found.push(...uses.map((use) => ({ ...use, account: name })));
      }
      return found;
    },
    /** Returns undefined for an unknown account. */
    async findOfAccount(name: string): Promise<Limits | null | undefined> {
      const account = await accounts.find(name);
      return account && accounts.findLimits(account.id);
    },
    async findOfKey(typed: string): Promise<Limits | null | undefined> {
      return (await keys.findById(typed.toLowerCase()))?.limits;
    },
    async showAccount(name: string): Promise<LimitUse[]> {
      const { id } = await directory.require(name);
      return show("account", id, await accounts.findLimits(id));
    },
    /** Takes effect at the next request, also in a running server. */
    async limitAccount(name: string, change: LimitChange): Promise<LimitUse[]> {
      const { id } = await directory.require(name);
      return show("account", id, await accounts.limit(id, change));
    },
    async showKey(typed: string): Promise<LimitUse[]> {
      const { id, limits } = await requireKey(typed);
      return show("key", id, limits);
    },
    async limitKey(typed: string, change: LimitChange): Promise<LimitUse[]> {
      const { id } = await requireKey(typed);
      return show("key", id, await keys.limit(id, change));
    },
  };
}
