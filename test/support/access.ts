import type { Access, Account, NewKey } from "../../src/access/index.ts";

export async function storeAccount(access: Access, name: string): Promise<Account> {
  const account = access.credentials.makeAccount(name);
  await access.accounts.create(account);
  return account;
}

export async function storeKey(access: Access, request: NewKey) {
  const { key, secret, stored } = access.credentials.makeKey(request);
  await access.keys.create(key, stored);
  return { key, secret };
}
