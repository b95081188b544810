// Accounts as the operator makes and finds them.
import { type Static, Type } from "@sinclair/typebox";
import { type Access, Account, type HoldRow } from "../access/index.ts";
import { type Grants, needsGrant } from "../models/index.ts";
import type { Bound } from "../platform/database/index.ts";
import type { ModelSettings } from "../platform/settings/index.ts";
import { maybe, Row, Timestamp } from "../platform/shape.ts";
import type { storageStore } from "../platform/storage/store.ts";
import { OperatorProblem, refuseUnknown, refuseUnknownModel } from "./problem.ts";

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

export interface AccountVerbsOptions {
  access: Pick<Access, "accounts" | "holds">;
  grants: Grants;
  listStored: Bound<typeof storageStore>["list"];
  /** Only the models of the settings can be granted. */
  models: readonly ModelSettings[];
}

export function createAccountVerbs({ access, grants, models, listStored }: AccountVerbsOptions) {
  const { accounts, holds } = access;
  const ids = models.map((model) => model.id);
  const require = async (name: string): Promise<Account> => {
    const account = await accounts.find(name);
    if (account) return account;
    const names = (await accounts.list()).map((one) => one.name);
    const advice = `\`wadi accounts ${NAME.test(name) ? `create ${name}\` makes it` : "list`"}`;
    throw refuseUnknown("account", name, names, advice);
  };
  return {
    /** The account of this name, or a problem with the nearest. */
    require,
    /**
     * An external or private model for this account; again: nothing changes. Says why it opens
     * nothing, where that is so: the settings may come to need it.
     */
    async grant(name: string, id: string): Promise<string | undefined> {
      const account = await require(name);
      const model = models.find((one) => one.id === id);
      if (!model) throw refuseUnknownModel(id, ids);
      await grants.grant(account.id, id);
      if (model.visibility === "internal") return `${id} is internal: no key may see it`;
      return needsGrant(model) ? undefined : `${id} needs none: every account may call it`;
    },
    /** Takes a grant back, also of a model that the settings no longer name. */
    async ungrant(name: string, id: string): Promise<void> {
      const account = await require(name);
      const was_granted = await grants.ungrant(account.id, id);
      // A slip would leave the grant that was meant in force.
      if (!was_granted && !ids.includes(id)) throw refuseUnknownModel(id, ids);
    },
    /** No run of its agents starts until it is released; again: another reason. null: none. */
    async hold(name: string, reason: string | null): Promise<HoldRow> {
      const { id } = await require(name);
      return holds.hold({ kind: "account", id, account_id: id, reason });
    },
    /** What waits begins. False: it was not held. */
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
        throw new OperatorProblem(
          "an account's name is 1 to 64 of A-Z, a-z, 0-9 and _ . -, " +
            "and begins with a letter or digit",
        );
      }
      const account = await accounts.create(name);
      if (!account) throw new OperatorProblem(`an account "${name}" exists already`);
      return account;
    },
  };
}
