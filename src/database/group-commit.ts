// Commits SQLite writes in groups: one transaction and fsync a group, one savepoint a call.
import type { Database as Connection, Statement } from "bun:sqlite";
import { reachFailPoint } from "../platform/failpoint.ts";
import { CommitCounter } from "./commit-counter.ts";
import { type Registry, runWrite, type WriteCall } from "./registry.ts";
import { codeOf, createExecutor } from "./sqlite.ts";
import type { Executor, Notification } from "./store.ts";

export type WriteOutcome = { ok: true; value: unknown } | { ok: false; failure: unknown };

/** Maximum calls of a group, so that the first does not wait long for the last. */
export const GROUP_CALLS_MAX = 256;

export class GroupCommit {
  readonly #connection: Connection;
  readonly #registry: Registry;
  readonly #tx: Executor;
  readonly #counter: CommitCounter | null;
  readonly #savepoint: Statement;
  readonly #release: Statement;

  constructor(connection: Connection, registry: Registry) {
    this.#connection = connection;
    this.#registry = registry;
    this.#tx = createExecutor(connection);
    this.#counter = CommitCounter.open(connection);
    this.#savepoint = connection.prepare("SAVEPOINT call");
    this.#release = connection.prepare("RELEASE call");
  }

  get tx(): Executor {
    return this.#tx;
  }

  /**
   * Runs `calls` in order and commits them together. A call that throws is rolled back alone; if
   * the commit fails, all of them fail and nothing is published.
   */
  async commit(
    calls: readonly WriteCall[],
  ): Promise<{ outcomes: WriteOutcome[]; notifications: Notification[] }> {
    const notifications: Notification[] = [];
    const outcomes: WriteOutcome[] = [];
    let commits: number | null = null;
    try {
      this.#connection.run("BEGIN IMMEDIATE");
      for (const call of calls) outcomes.push(await this.#runInSavepoint(call, notifications));
      commits = this.#counter?.count() ?? null;
      this.#connection.run("COMMIT");
    } catch (failure) {
      this.#rollBack();
      return { outcomes: calls.map(() => ({ ok: false, failure })), notifications: [] };
    }
    if (commits !== null) this.#counter?.note(commits);
    for (const [i, { store, method }] of calls.entries()) {
      if (outcomes[i]!.ok) reachFailPoint(`${store}.${method}:after`);
    }
    return { outcomes, notifications };
  }

  close(): void {
    this.#counter?.close();
  }

  async #runInSavepoint(call: WriteCall, notifications: Notification[]): Promise<WriteOutcome> {
    const connection = this.#connection;
    this.#savepoint.run();
    try {
      const value = await runWrite(this.#registry, this.#tx, notifications, call);
      this.#release.run();
      return { ok: true, value };
    } catch (failure) {
      // A full disk or an I/O error ends the whole transaction: no call of the group has happened.
      if (!connection.inTransaction || isFatal(failure)) throw failure;
      connection.run("ROLLBACK TO call");
      this.#release.run();
      return { ok: false, failure };
    }
  }

  /** A failing disk may fail here too; the first failure is the one to report. */
  #rollBack(): void {
    try {
      if (this.#connection.inTransaction) this.#connection.run("ROLLBACK");
    } catch {
      // The next BEGIN fails, and then rolls back again.
    }
  }
}

function isFatal(failure: unknown): boolean {
  return /^SQLITE_(FULL|IOERR|CORRUPT|NOTADB|READONLY)/.test(codeOf(failure));
}
