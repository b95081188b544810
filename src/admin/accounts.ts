// Accounts: create, list, hold, release, grant models.
import { type Static, Type } from "@sinclair/typebox";
import { type Access, Account, type HoldRow } from "../access/index.ts";
import { activityStore } from "../inventory/index.ts";
import { createGrants, needsGrant } from "../models/index.ts";
import { yieldToEventLoop } from "../platform/clock.ts";
import { maybe, Row, Timestamp } from "../platform/schema.ts";
import { storageStore } from "../storage/index.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError, isName, requireName, unknownModel, unknownName } from "./errors.ts";

export const ListedAccount = Row(Account, {
  held_since: maybe(Timestamp("Begin of a hold.")),
  hold_reason: maybe(Type.String({ description: "Reason of the hold." })),
  stored_bytes: Type.Integer({ description: "Stored bytes; `limits.stored_bytes` bounds them." }),
  agents: Type.Integer({ description: "Agents that are not archived." }),
  granted_models: Type.Array(Type.String(), {
    description: "Ids of the models that were granted to it, beside those that need no grant.",
  }),
});
export type ListedAccount = Static<typeof ListedAccount>;

const ACCOUNTS_AT_ONCE = 100;

/** Walks accounts whose rows are read one by one, with pauses for other work. */
export async function* walkAccounts(accounts: readonly Account[]): AsyncGenerator<Account> {
  for (const [i, account] of accounts.entries()) {
    if (i % ACCOUNTS_AT_ONCE === ACCOUNTS_AT_ONCE - 1) await yieldToEventLoop();
    yield account;
  }
}

export class AccountDirectory {
  readonly #accounts: Access["accounts"];

  constructor({ accounts }: Pick<Access, "accounts">) {
    this.#accounts = accounts;
  }

  /** Throws with the nearest name. */
  async require(name: string): Promise<Account> {
    const account = await this.#accounts.find(name);
    if (account) return account;
    const names = (await this.#accounts.list()).map((one) => one.name);
    const advice = `\`wadi accounts ${isName(name) ? `create ${name}\` makes it` : "list`"}`;
    throw unknownName("account", name, names, advice);
  }

  async select(name: string | null): Promise<Account[]> {
    return name === null ? this.#accounts.list() : [await this.require(name)];
  }

  async names(): Promise<ReadonlyMap<string, string>> {
    return new Map((await this.#accounts.list()).map(({ id, name }) => [id, name]));
  }

  async addName<T extends { account_id: string }>(row: T): Promise<T & { account: string }> {
    return { ...row, account: (await this.names()).get(row.account_id)! };
  }

  async list<T extends { account_id: string }>(
    name: string | null,
    list: (accountId: string | null) => Promise<readonly T[]>,
  ): Promise<(T & { account: string })[]> {
    const owner = name === null ? null : await this.require(name);
    const names = await this.names();
    const rows = await list(owner?.id ?? null);
    return rows.map((row) => ({ ...row, account: names.get(row.account_id)! }));
  }
}

export function createAccountAdmin(
  { access, clock, database, settings: { models } }: AdminDeps,
  directory: AccountDirectory,
) {
  const { accounts, credentials, holds } = access;
  const grants = createGrants(database, clock);
  const storage = database.bind(storageStore);
  const activity = database.bind(activityStore);
  const ids = models.map((model) => model.id);
  return {
    /** Grants a model; idempotent. Returns why the grant has no effect now, if it has none. */
    async grant(name: string, id: string): Promise<string | undefined> {
      const account = await directory.require(name);
      const model = models.find((one) => one.id === id);
      if (!model) throw unknownModel(id, ids);
      await grants.grant(account.id, id);
      if (model.visibility === "internal") return `${id} is internal: no key may see it`;
      return needsGrant(model) ? undefined : `${id} needs none: every account may call it`;
    },
    /** Takes a grant back, even of a model that left the settings. */
    async ungrant(name: string, id: string): Promise<void> {
      const account = await directory.require(name);
      const wasGranted = await grants.ungrant(account.id, id);
      // A typo would leave the intended grant in force.
      if (!wasGranted && !ids.includes(id)) throw unknownModel(id, ids);
    },
    /** Keeps its agents' runs from starting; a second hold replaces the reason. */
    async hold(name: string, reason: string | null): Promise<HoldRow> {
      const { id } = await directory.require(name);
      return holds.hold({ kind: "account", id, account_id: id, reason, since: clock.now() });
    },
    /** Starts the runs that wait; returns whether it was held. */
    async release(name: string): Promise<boolean> {
      const { id } = await directory.require(name);
      return holds.release("account", id);
    },
    async find(name: string): Promise<ListedAccount | undefined> {
      return (await this.list()).find((one) => one.name === name);
    },
    async list(): Promise<ListedAccount[]> {
      // An agent's hold has another id.
      const holdsById = new Map((await holds.list()).map((hold) => [hold.id, hold]));
      const bytesById = new Map(
        (await storage.list()).map(({ account_id, bytes }) => [account_id, bytes]),
      );
      const agentsById = await activity.countAgents();
      const grantsById = Map.groupBy(await grants.list(), ({ account_id }) => account_id);
      return (await accounts.list()).map((account) => {
        const { since = null, reason = null } = holdsById.get(account.id) ?? {};
        return {
          ...account,
          held_since: since,
          hold_reason: reason,
          stored_bytes: bytesById.get(account.id) ?? 0,
          agents: agentsById.get(account.id) ?? 0,
          granted_models: (grantsById.get(account.id) ?? []).map(({ model }) => model),
        };
      });
    },
    async create(name: string): Promise<Account> {
      requireName("an account's", name);
      const account = credentials.makeAccount(name);
      const isNew = await accounts.create(account);
      if (!isNew) throw new AdminError(`an account "${name}" exists already`, "conflict");
      return account;
    },
  };
}
