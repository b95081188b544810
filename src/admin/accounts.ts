// Accounts: create, list, hold, release, grant models.
import { type Static, Type } from "@sinclair/typebox";
import { type Access, Account, type HoldRow } from "../access/index.ts";
import type { Bound } from "../database/index.ts";
import { type Grants, needsGrant } from "../models/index.ts";
import type { Clock } from "../platform/clock.ts";
import { maybe, Row, Timestamp } from "../platform/schema.ts";
import type { ModelSettings } from "../settings/index.ts";
import type { storageStore } from "../storage/index.ts";
import { AdminError, refuseUnknown, refuseUnknownModel } from "./errors.ts";

/** An account and whether it is held. */
export const ListedAccount = Row(Account, {
  held_since: maybe(Timestamp("Since when it is held; null: it is not.")),
  hold_reason: maybe(Type.String({ description: "Why it is held; null: no reason was given." })),
  stored_bytes: Type.Integer({
    description: "What it has stored, in bytes: `limits.stored_bytes` bounds it.",
  }),
});
export type ListedAccount = Static<typeof ListedAccount>;

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** The name of each account by its id. */
export async function nameAccounts({
  accounts,
}: Pick<Access, "accounts">): Promise<ReadonlyMap<string, string>> {
  return new Map((await accounts.list()).map(({ id, name }) => [id, name]));
}

export interface AccountAdminOptions {
  access: Pick<Access, "accounts" | "credentials" | "holds">;
  clock: Clock;
  grants: Grants;
  listStored: Bound<typeof storageStore>["list"];
  /** Only the models of the settings can be granted. */
  models: readonly ModelSettings[];
}

export function createAccountAdmin({
  access,
  clock,
  grants,
  models,
  listStored,
}: AccountAdminOptions) {
  const { accounts, credentials, holds } = access;
  const ids = models.map((model) => model.id);
  const require = async (name: string): Promise<Account> => {
    const account = await accounts.find(name);
    if (account) return account;
    const names = (await accounts.list()).map((one) => one.name);
    const advice = `\`wadi accounts ${NAME.test(name) ? `create ${name}\` makes it` : "list`"}`;
    throw refuseUnknown("account", name, names, advice);
  };
  return {
    /** Throws with the nearest name. */
    require,
    /** Grants a model; idempotent. Returns why the grant has no effect now, if it has none. */
    async grant(name: string, id: string): Promise<string | undefined> {
      const account = await require(name);
      const model = models.find((one) => one.id === id);
      if (!model) throw refuseUnknownModel(id, ids);
      await grants.grant(account.id, id);
      if (model.visibility === "internal") return `${id} is internal: no key may see it`;
      return needsGrant(model) ? undefined : `${id} needs none: every account may call it`;
    },
    /** Takes a grant back, even of a model that left the settings. */
    async ungrant(name: string, id: string): Promise<void> {
      const account = await require(name);
      const was_granted = await grants.ungrant(account.id, id);
      // A typo would leave the intended grant in force.
      if (!was_granted && !ids.includes(id)) throw refuseUnknownModel(id, ids);
    },
    /** Keeps its agents' runs from starting; a second hold replaces the reason. */
    async hold(name: string, reason: string | null): Promise<HoldRow> {
      const { id } = await require(name);
      return holds.hold({ kind: "account", id, account_id: id, reason, since: clock.now() });
    },
    /** Starts the runs that wait; returns whether it was held. */
    async release(name: string): Promise<boolean> {
      const { id } = await require(name);
      return holds.release("account", id);
    },
    async list(): Promise<ListedAccount[]> {
      const held = (await holds.list()).filter(({ kind }) => kind === "account");
      const found = new Map(held.map((hold) => [hold.id, hold]));
      const stored = new Map(
        (await listStored()).map(({ account_id, bytes }) => [account_id, bytes]),
      );
      return (await accounts.list()).map((account) => {
        const { since = null, reason = null } = found.get(account.id) ?? {};
        const stored_bytes = stored.get(account.id) ?? 0;
        return { ...account, held_since: since, hold_reason: reason, stored_bytes };
      });
    },
    async create(name: string): Promise<Account> {
      if (!NAME.test(name)) {
        throw new AdminError(
          "an account's name is 1 to 64 of A-Z, a-z, 0-9 and _ . -, " +
            "and begins with a letter or digit",
        );
      }
      const account = credentials.makeAccount(name);
      const isNew = await accounts.create(account);
      if (!isNew) throw new AdminError(`an account "${name}" exists already`);
      return account;
    },
  };
}
