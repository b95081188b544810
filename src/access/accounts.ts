// Makes and lists accounts.
import type { Bound } from "../database/index.ts";
import type { Account } from "./account.ts";
import { type KeyContext, makeKey, type NewKey } from "./keys.ts";
import type { accountStore } from "./store.ts";

export function createAccounts(store: Bound<typeof accountStore>, making: KeyContext) {
  const make = (name: string): Account => ({
    id: making.ids.uuid(),
    name,
    created_at: making.clock.now(),
  });
  return {
    /** undefined: the name is taken. */
    async create(name: string): Promise<Account | undefined> {
      const account = make(name);
      return (await store.create(account)) ? account : undefined;
    },
    find: (name: string): Promise<Account | undefined> => store.find(name),
    list: (): Promise<Account[]> => store.list(),
    /** The secret of the one key of the one account; undefined: there are accounts already. */
    async createFirst(name: string, wish: Omit<NewKey, "account_id">): Promise<string | undefined> {
      if ((await store.count()) > 0) return undefined;
      const account = make(name);
      const { key, stored, secret } = makeKey(making, { ...wish, account_id: account.id });
      return (await store.createFirst(account, key, stored)) ? secret : undefined;
    },
  };
}
