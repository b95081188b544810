// Keys of every kind for the tests of one spec, created as an operator creates them.

import type { Scope } from "../../../src/access/index.ts";
import { modelStore } from "../../../src/models/store.ts";
import { storeAccount, storeKey } from "../../support/access.ts";
import type { TestApp } from "../../support/app.ts";

export interface KeyRequest {
  account_id?: string | null;
  scopes?: Scope[];
  models?: string[] | null;
  max_output_tokens?: number | null;
  expires_at?: number | null;
}

/** The secret of a new key, by default of the test's first account. */
export async function createKey({ app }: TestApp, request: KeyRequest = {}): Promise<string> {
  const account_id = (await app.access.accounts.find("dev"))!.id;
  const { secret } = await storeKey(app.access, { account_id, ...request });
  return secret;
}

/** An account of its own with one key, and the permissions for single models that it gets. */
export async function allow(test: TestApp, name: string, request: KeyRequest = {}) {
  const { app, clock } = test;
  const account_id = (await storeAccount(app.access, name)).id;
  const store = app.database.bind(modelStore);
  return {
    account_id,
    key: await createKey(test, { ...request, account_id }),
    grant: (model: string) => store.grant(account_id, model, clock.now()),
    ungrant: (model: string) => store.ungrant(account_id, model),
  };
}
