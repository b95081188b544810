// Commits writes of PostgreSQL in groups. A group is one transaction, whose calls run at once: they
// share round trips and one flush of the server's log.
import type { PostgresConnections } from "./postgres-connections.ts";
import { executeOn } from "./postgres-executor.ts";
import { isCollision, isFollowing, isLocked } from "./postgres-failures.ts";
import type { SendBehind, Transaction } from "./postgres-transaction.ts";
import { type Registry, runWrite, type WriteCall } from "./registry.ts";
import type { Executor, Notification } from "./store.ts";

/** Maximum attempts of a call whose group was undone, where it collides with other writes. */
const ATTEMPTS_MAX = 8;
/** Maximum calls of a group, so that the first does not wait long for the last. */
const GROUP_CALLS_MAX = 64;

/** A write that locks its root row first; calls of one root run one after the other. */
export interface RootedCall extends WriteCall {
  root: string;
}

interface QueuedCall {
  call: RootedCall;
  resolve(value: unknown): void;
  reject(failure: unknown): void;
}

/** `failure`: the call wrote nothing before it failed, so that the others can be committed. */
type CallOutcome = { value: unknown; notifications: Notification[] } | { failure: unknown };

export interface GroupOptions {
  connections: PostgresConnections;
  registry: Registry;
  /**
   * Groups of all processes take turns: calls of one group run at once, and lock the counters of
   * accounts in any order. Two groups could wait for each other.
   */
  takesTurns: boolean;
  /** Commits may be sent before their calls have ended. */
  commitsEarly: boolean;
  /** Part of the transaction: what other processes must hear of. */
  announce(tx: Executor, calls: readonly WriteCall[], told: readonly Notification[]): Promise<void>;
  /** Tells other processes in the round trip of the commit. */
  tellBehind(calls: readonly WriteCall[], told: readonly Notification[]): SendBehind;
  onCommit(calls: readonly WriteCall[], told: readonly Notification[]): void;
}

export class PostgresGroups {
  readonly #options: GroupOptions;
  #waiting: QueuedCall[] = [];
  #working: Promise<void> | null = null;

  constructor(options: GroupOptions) {
    this.#options = options;
  }

  write(call: RootedCall): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, resolve, reject });
      this.#working ??= this.#work();
    });
  }

  async close(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    // Calls of the same turn of the event loop join the first group.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      await this.#commit(this.#waiting.splice(0, GROUP_CALLS_MAX));
    }
    this.#working = null;
  }

  async #commit(group: readonly QueuedCall[]): Promise<void> {
    let transaction: Transaction | undefined;
    try {
      const calls = group.map(({ call }) => call);
      const outcomes = await this.#attempt(calls, (begun) => {
        transaction = begun;
      });
      for (const [at, { resolve, reject }] of group.entries()) {
        const outcome = outcomes[at]!;
        if ("failure" in outcome) reject(outcome.failure);
        else resolve(outcome.value);
      }
    } catch (failure) {
      // The server may have committed what it did not answer: callers decide. What waits for a
      // lock would wait again, each call for as long.
      if (transaction?.mayBeCommitted || isLocked(failure))
        for (const { reject } of group) reject(failure);
      // One call's failure has undone the others: each runs again, and fails alone.
      else for (const one of group) await this.#commitAlone(one);
    }
  }

  async #commitAlone({ call, resolve, reject }: QueuedCall): Promise<void> {
    for (let attempts = 1; ; attempts++) {
      try {
        const [outcome] = await this.#attempt([call], () => {});
        return "failure" in outcome! ? reject(outcome.failure) : resolve(outcome!.value);
      } catch (failure) {
        if (attempts === ATTEMPTS_MAX || !isCollision(failure)) return reject(failure);
      }
    }
  }

  async #attempt(
    calls: readonly RootedCall[],
    onBegin: (transaction: Transaction) => void,
  ): Promise<CallOutcome[]> {
    const { connections, announce, onCommit, takesTurns } = this.#options;
    let committed: RootedCall[] = [];
    let told: Notification[] = [];
    const outcomes = await connections.transact("READ COMMITTED", async (transaction) => {
      onBegin(transaction);
      const { runner } = transaction;
      // Waits until no other group is under way, until the end of the transaction.
      const turn = takesTurns ? runner`SELECT pg_advisory_xact_lock(7241988)`.execute() : null;
      // Sent at once behind it. The connection is free only when all of it has ended.
      const [taken, ran] = await Promise.allSettled([turn, this.#runAll(transaction, calls)]);
      if (taken.status === "rejected") throw taken.reason;
      if (ran.status === "rejected") throw ran.reason;
      const ended = ran.value;
      told = ended.flatMap((one) => ("value" in one ? one.notifications : []));
      committed = calls.filter((_, at) => "value" in ended[at]!);
      await announce(executeOn(runner), committed, told);
      return ended;
    });
    onCommit(committed, told);
    return outcomes;
  }

  async #runAll(transaction: Transaction, calls: readonly RootedCall[]): Promise<CallOutcome[]> {
    const { commitsEarly, tellBehind } = this.#options;
    let left = calls.length;
    const known: Notification[] = [];
    const onLast = (told: readonly Notification[]) => {
      known.push(...told);
      if (--left === 0 && commitsEarly) transaction.commit(tellBehind(calls, known));
    };
    const lasts = new Map<string, Promise<CallOutcome>>();
    const running = calls.map((call) => {
      const before = lasts.get(call.root);
      const outcome = before
        ? before.then(() => this.#runOne(transaction, call, onLast))
        : this.#runOne(transaction, call, onLast);
      lasts.set(call.root, outcome);
      return outcome;
    });
    // The connection is free only when all have ended, whichever of them failed.
    const settled = await Promise.allSettled(running);
    const failed = settled.filter((one) => one.status === "rejected").map(({ reason }) => reason);
    if (failed.length > 0) throw failed.find((one) => !isFollowing(one)) ?? failed[0];
    return settled.map((one) => (one as PromiseFulfilledResult<CallOutcome>).value);
  }

  /** `onLast`: the call sends nothing more, and the others may be committed with it. */
  async #runOne(
    { runner }: Transaction,
    call: WriteCall,
    onLast: (told: readonly Notification[]) => void,
  ): Promise<CallOutcome> {
    const { tx, hasWritten } = watch(executeOn(runner));
    const notifications: Notification[] = [];
    let isOpen = true;
    const commitEarly = (told: readonly Notification[] = []) => {
      if (isOpen) onLast(told);
      isOpen = false;
    };
    const own = { ...tx, commitEarly };
    try {
      const value = await runWrite(this.#options.registry, own, notifications, call);
      commitEarly(notifications);
      return { value, notifications };
    } catch (failure) {
      if (hasWritten()) throw failure;
      commitEarly();
      return { failure };
    }
  }
}

/** Notices statements that change rows, and those that fail, which end the transaction. */
function watch(executor: Executor): { tx: Executor; hasWritten(): boolean } {
  let isClean = true;
  const note = async <T>(isRead: boolean, pending: Promise<T>): Promise<T> => {
    if (!isRead) isClean = false;
    try {
      return await pending;
    } catch (failure) {
      isClean = false;
      throw failure;
    }
  };
  const isRead = (text: string) => /^\s*SELECT\b/i.test(text);
  return {
    tx: {
      ...executor,
      all: (schema, query) => note(isRead(query.strings[0]!), executor.all(schema, query)),
      one: (schema, query) => note(isRead(query.strings[0]!), executor.one(schema, query)),
      run: (query) => note(false, executor.run(query)),
    },
    hasWritten: () => !isClean,
  };
}
