// Deletion of an account with everything of it, in parts, continued after a crash.
import type { Bound } from "../database/index.ts";
import { ACCOUNT_PARTS, type AccountDeletion, accountDeletionStore } from "../inventory/index.ts";
import type { IsStopping, Sweep } from "../retention/index.ts";
import type { AccountDirectory } from "./accounts.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError } from "./errors.ts";

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
  /** Account and position of this deletion; null: done. */
  next: string | null;
  deleted: RowCount[];
}

/** Position of a deletion: an index of `ACCOUNT_PARTS`, and the last row that it has passed. */
interface WalkPosition {
  part: number;
  after: string;
}

const START: WalkPosition = { part: 0, after: "" };
const NEXT = /^([0-9a-f-]{36})\.(\d{1,2})\.([0-9a-f-]*)$/;

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
  const begin = async (name: string) => {
    const { account_id, isBegun } = await find(name);
    if (!isBegun) await store.begin({ account_id, name, begun_at: clock.now() });
    return { account_id, start: START };
  };
  const findBegun = async (name: string, from: string) => {
    const [, account_id, part, after] = NEXT.exec(from) ?? [];
    const begun = (await store.list()).find((deletion) => deletion.account_id === account_id);
    // An account that exists is never deleted by its id.
    if (begun?.name !== name) {
      throw new AdminError(`no deletion of "${name}" goes on there: ask without \`from\``);
    }
    return { account_id: begun.account_id, start: { part: Number(part), after: after! } };
  };
  return {
    async count(name: string) {
      const { account_id, isBegun } = await find(name);
      const counts = await store.count(account_id);
      const contents = Object.entries(counts).map(([what, rows]) => ({ what, rows }));
      return { account: name, is_begun: isBegun, contents };
    },
    /**
     * Deletes at once the account and its keys, then rows until all are gone or time is over.
     * `from` is `next` of an earlier reply: a name alone could be that of a new account.
     */
    async remove(name: string, from?: string): Promise<AccountRemoval> {
      const { account_id, start } =
        from === undefined ? await begin(name) : await findBegun(name, from);
      const until = clock.monotonic() + REQUEST_MS;
      const isOver = () => clock.monotonic() >= until;
      const { deleted, next } = await deleteAll(store, account_id, start, isOver);
      return {
        account: name,
        is_done: next === null,
        next: next && `${account_id}.${next.part}.${next.after}`,
        deleted,
      };
    },
  };
}

async function deleteAll(
  store: DeletionStore,
  account_id: string,
  start: WalkPosition,
  isOver: IsStopping,
) {
  const deleted: RowCount[] = [];
  for (let part = start.part; part < ACCOUNT_PARTS.length; part++) {
    const what = ACCOUNT_PARTS[part]!;
    const count = { what, rows: 0 };
    deleted.push(count);
    for (let after: string | null = part === start.part ? start.after : ""; after !== null; ) {
      if (await isOver()) return { next: { part, after }, deleted };
      const done = await store.deletePart(what, { account_id, after, limit: ROWS_A_PART });
      count.rows += done.rows;
      after = done.next;
    }
  }
  return { next: null, deleted };
}

/** Continues deletions that a crash cut off, and deletes rows that came late. */
export function createAccountSweeps({ database }: Pick<AdminDeps, "database">): Sweep[] {
  const store = database.bind(accountDeletionStore);
  const sweep = async (
    { account_id, begun_at }: AccountDeletion,
    now: number,
    isStopping: IsStopping,
  ) => {
    const { next, deleted } = await deleteAll(store, account_id, START, isStopping);
    if (next === null && now - begun_at >= LATE_MS) await store.end(account_id);
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
