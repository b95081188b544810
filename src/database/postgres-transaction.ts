// One transaction of PostgreSQL. Its begin goes with the first statements, and its commit may go
// with the last ones: a write that needs no answer in between is one round trip.
import type { ReservedSQL } from "bun";
import { executeOn } from "./postgres-executor.ts";
import type { Executor } from "./store.ts";

export type Isolation = "READ COMMITTED" | "SERIALIZABLE";

/** Ends transactions of a process that has stopped, whose locks others wait for. */
const BOUNDS = Object.entries({
  ...{ statement_timeout: 60_000, lock_timeout: 2_000 },
  idle_in_transaction_session_timeout: 5_000,
});
/** The server's process, whose session is bound. */
export const BIND_SESSION = BOUNDS.reduce(
  (text, [name, value]) => `${text}, set_config('${name}', '${value}', false)`,
  "SELECT pg_backend_pid() AS pid",
);

/** Sends a statement that must not fail the work before it. */
export type SendBehind = (executor: Executor) => Promise<void>;

export class Transaction {
  readonly runner: ReservedSQL;
  readonly #isBound: boolean;
  #committing: Promise<{ command?: string }> | null = null;
  #behind: Promise<unknown> | null = null;
  #hasLeft = false;
  #hasBegun = false;
  #isUndone = false;

  /** `isBound`: the session has the bounds, and keeps prepared statements. */
  constructor(runner: ReservedSQL, isBound: boolean) {
    this.runner = runner;
    this.#isBound = isBound;
  }

  /** A commit was sent, and no answer says that the server undid it. */
  get mayBeCommitted(): boolean {
    return this.#committing !== null && !this.#isUndone;
  }

  /** Statements may have reached the server: the connection was not cut before they were sent. */
  get mayHaveRun(): boolean {
    return this.#hasBegun || (this.#hasLeft && this.mayBeCommitted);
  }

  /** Runs `work` and commits; a failure rolls it back. */
  async run<T>(isolation: Isolation, work: (tx: Transaction) => Promise<T>): Promise<T> {
    // The first statements of the work follow it, before it is answered.
    this.#begin(isolation).then(
      () => {
        this.#hasBegun = true;
      },
      () => {},
    );
    setImmediate(() => {
      this.#hasLeft = true;
    });
    try {
      const value = await work(this);
      this.commit();
      await this.#committing;
      return value;
    } catch (failure) {
      await this.#undo();
      throw failure;
    } finally {
      // The connection is free only when all of it has ended.
      await this.#behind;
    }
  }

  /**
   * Sends the commit behind what was sent: a statement there that fails undoes all. `behind` goes
   * with it and is no part of the transaction: it runs whether or not that is undone.
   */
  commit(behind?: SendBehind): void {
    if (this.#committing) return;
    const { runner } = this;
    this.#committing = this.#isBound ? runner`COMMIT`.execute() : runner.unsafe("COMMIT").execute();
    this.#committing.catch(() => {});
    if (behind && this.#isBound) this.#behind = behind(executeOn(runner));
  }

  /** Statements without values are pipelined only as templates. */
  #begin(isolation: Isolation): Promise<unknown> {
    const { runner } = this;
    if (!this.#isBound) {
      const bounds = BOUNDS.map(([name, value]) => `; SET LOCAL ${name} = ${value}`);
      return runner.unsafe(`BEGIN ISOLATION LEVEL ${isolation}${bounds.join("")}`).execute();
    }
    return isolation === "SERIALIZABLE"
      ? runner`BEGIN ISOLATION LEVEL SERIALIZABLE`.execute()
      : runner`BEGIN ISOLATION LEVEL READ COMMITTED`.execute();
  }

  async #undo(): Promise<void> {
    if (!this.#committing) return void (await this.runner.unsafe("ROLLBACK").catch(() => {}));
    const ended = await this.#committing.catch(() => null);
    this.#isUndone = ended?.command === "ROLLBACK";
  }
}
