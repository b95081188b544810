// Deletion of an account with everything of it, in parts, continued after a crash.
import type { Bound } from "../database/index.ts";
import { ACCOUNT_PARTS, type AccountDeletion, accountDeletionStore } from "../inventory/index.ts";
import type { Sweep } from "../retention/index.ts";
import type { AccountDirectory } from "./accounts.ts";
import type { AdminDeps } from "./deps.ts";

type DeletionStore = Bound<typeof accountDeletionStore>;

/** Maximum rows of a part, which takes milliseconds. */
const ROWS_A_PART = 2_000;
/** Time of one request, below the time-out of its client. */
const REQUEST_MS = 20_000;
/** Time in which rows of requests that were under way at the deletion may still be written. */
const LATE_MS = 3_600_000;

export interface RowCount {
  what: string;
  rows: number;
}

export interface AccountRemoval {
  account: string;
  /** Tells that nothing is left; otherwise time was over. */
  is_done: boolean;
  deleted: RowCount[];
}

export function createAccountDeletion(deps: AdminDeps, directory: AccountDirectory) {
  const { access, database, clock } = deps;
  const store = database.bind(accountDeletionStore);
  /** Finds an account, or the deletion of one that was begun under that name. */
  const find = async (name: string) => {
    const account = await access.accounts.find(name);
    if (account) return { account_id: account.id, isBegun: false };
    const begun = (await store.list()).findLast((deletion) => deletion.name === name);
    if (begun) return { account_id: begun.account_id, isBegun: true };
    return { account_id: (await directory.require(name)).id, isBegun: false };
  };
  return {
    async count(name: string) {
      const { account_id, isBegun } = await find(name);
      const counts = await store.count(account_id);
      const contents = Object.entries(counts).map(([what, rows]) => ({ what, rows }));
      return { account: name, is_begun: isBegun, contents };
    },
    /** Deletes at once the account and its keys, then rows until all are gone or time is over. */
    async remove(name: string): Promise<AccountRemoval> {
      const { account_id, isBegun } = await find(name);
      if (!isBegun) await store.begin({ account_id, name, begun_at: clock.now() });
      const until = clock.monotonic() + REQUEST_MS;
      const removed = await deleteAll(store, account_id, () => clock.monotonic() >= until);
      return { account: name, ...removed };
    },
  };
}

async function deleteAll(store: DeletionStore, account_id: string, isOver: () => boolean) {
  const deleted: RowCount[] = [];
  for (const what of ACCOUNT_PARTS) {
    const count = { what, rows: 0 };
    for (let after: string | null = ""; after !== null; ) {
      if (isOver()) return { is_done: false, deleted: [...deleted, count] };
      const part = await store.deletePart(what, { account_id, after, limit: ROWS_A_PART });
      count.rows += part.rows;
      after = part.next;
    }
    deleted.push(count);
  }
  return { is_done: true, deleted };
}

/** Continues deletions that a crash cut off, and deletes rows that came late. */
export function createAccountSweeps({ database }: Pick<AdminDeps, "database">): Sweep[] {
  const store = database.bind(accountDeletionStore);
  const sweep = async (
    { account_id, begun_at }: AccountDeletion,
    now: number,
    isStopping: () => boolean,
  ) => {
    const { is_done, deleted } = await deleteAll(store, account_id, isStopping);
    if (is_done && now - begun_at >= LATE_MS) await store.end(account_id);
    return deleted.reduce((sum, { rows }) => sum + rows, 0);
  };
  return [
    {
      what: "rows of deleted accounts",
      async run(now, isStopping) {
        let rows = 0;
        for (const deletion of await store.list()) rows += await sweep(deletion, now, isStopping);
        return rows;
      },
    },
  ];
}
