// Accounts as the operator makes and finds them.
import type { Access, Account } from "../access/index.ts";
import type { Grants } from "../models/index.ts";
import { OperatorProblem, refuseUnknown } from "./problem.ts";

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

export interface AccountVerbsOptions {
  access: Pick<Access, "accounts">;
  grants: Grants;
  /** Ids of the models in the settings: only these can be granted. */
  models: readonly string[];
}

export function createAccountVerbs({ access, grants, models }: AccountVerbsOptions) {
  const { accounts } = access;
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
    /** An external or private model for this account; again: nothing changes. */
    async grant(name: string, model: string): Promise<void> {
      const { id } = await require(name);
      if (!models.includes(model)) {
        throw refuseUnknown("model", model, models, `the settings name ${models.join(", ")}`);
      }
      await grants.grant(id, model);
    },
    /** Takes a grant back, also of a model that the settings no longer name. */
    async ungrant(name: string, model: string): Promise<void> {
      const { id } = await require(name);
      await grants.ungrant(id, model);
    },
    list: (): Promise<Account[]> => accounts.list(),
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
