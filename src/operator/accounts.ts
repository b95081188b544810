// Accounts as the operator makes and finds them.
import type { Access, Account } from "../access/index.ts";
import { OperatorProblem, refuseUnknown } from "./problem.ts";

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

export function createAccountVerbs({ accounts }: Pick<Access, "accounts">) {
  return {
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
    /** The account of this name, or a problem with the nearest. */
    async require(name: string): Promise<Account> {
      const account = await accounts.find(name);
      if (account) return account;
      const names = (await accounts.list()).map((one) => one.name);
      const advice = `\`wadi accounts ${NAME.test(name) ? `create ${name}\` makes it` : "list`"}`;
      throw refuseUnknown("account", name, names, advice);
    },
  };
}
