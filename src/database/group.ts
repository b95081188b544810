// Commits writes in groups on a SQLite connection: one transaction and fsync, a savepoint each.
import type { Database as Connection } from "bun:sqlite";
import { reachFailPoint } from "../platform/failpoint.ts";
import type { CommitCounter } from "./commit-counter.ts";
import { codeOf, type SqliteTx } from "./sqlite.ts";
import type { Notification } from "./store.ts";
import { type Registry, runWrite } from "./transaction.ts";

export interface WriteCall {
  store: string;
  method: string;
  args: unknown[];
}

export type WriteOutcome = { ok: true; value: unknown } | { ok: false; failure: unknown };

/** More calls wait for the next group, so that the first of them need not wait for the last. */
export const GROUP_CALLS_MAX = 256;

/**
 * Runs `calls` in their order and commits them together. A call that throws is rolled back alone;
 * when the commit itself fails, all of them have failed and nothing was told.
 */
export async function commitGroup(
  connection: Connection,
  tx: SqliteTx,
  registry: Registry,
  counter: CommitCounter | null,
  calls: readonly WriteCall[],
): Promise<{ outcomes: WriteOutcome[]; told: Notification[] }> {
  const told: Notification[] = [];
  const outcomes: WriteOutcome[] = [];
  let commits: number | null = null;
  try {
    connection.run("BEGIN IMMEDIATE");
    for (const call of calls) {
      outcomes.push(await runInSavepoint(connection, tx, registry, told, call));
    }
    commits = counter?.count() ?? null;
    connection.run("COMMIT");
  } catch (failure) {
    rollBack(connection);
    return { outcomes: calls.map(() => ({ ok: false, failure })), told: [] };
  }
  if (commits !== null) counter?.note(commits);
  for (const [i, { store, method }] of calls.entries()) {
    if (outcomes[i]!.ok) reachFailPoint(`${store}.${method}:after`);
  }
  return { outcomes, told };
}

/** A disk that fails may fail at this, too: it must not hide why, nor end the writer. */
function rollBack(connection: Connection): void {
  try {
    if (connection.inTransaction) connection.run("ROLLBACK");
  } catch {
    // The next BEGIN fails, and the rollback behind it is another try.
  }
}

async function runInSavepoint(
  connection: Connection,
  tx: SqliteTx,
  registry: Registry,
  told: Notification[],
  call: WriteCall,
): Promise<WriteOutcome> {
  connection.run("SAVEPOINT call");
  try {
    const value = await runWrite(registry, tx, told, call.store, call.method, call.args);
    connection.run("RELEASE call");
    return { ok: true, value };
  } catch (failure) {
    // A full disk or an I/O error ends the whole transaction: no call of the group has happened.
    if (!connection.inTransaction || isFatal(failure)) throw failure;
    connection.run("ROLLBACK TO call");
    connection.run("RELEASE call");
    return { ok: false, failure };
  }
}

function isFatal(failure: unknown): boolean {
  return /^SQLITE_(FULL|IOERR|CORRUPT|NOTADB|READONLY)/.test(codeOf(failure));
}
