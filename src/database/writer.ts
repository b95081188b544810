// SQLite with its writes in a Worker and its reads on the main thread.
import type { Database as Connection } from "bun:sqlite";
import type { Bus } from "./bus.ts";
import { DatabaseLost } from "./errors.ts";
import type { WriteCall } from "./registry.ts";
import { createExecutor } from "./sqlite.ts";
import type { DatabaseEngine, Db } from "./store.ts";
import { watchCommits } from "./wal-index.ts";
import {
  type FromWriter,
  pack,
  readReply,
  type ToWriter,
  unpack,
  type WriteReply,
} from "./writer-protocol.ts";

/** Maximum cached rows; then all are dropped, which is cheaper than choosing. */
const CACHED_ROWS_MAX = 10_000;

type Answer = (reply: WriteReply) => void;

export class WriterEngine implements DatabaseEngine {
  readonly name = "sqlite";
  readonly #reads: CachedReads;
  readonly #bus: Bus;
  readonly #onDeath: (failure: Error) => void;
  readonly #worker: Worker;
  readonly #sent: Answer[] = [];
  #unsent: WriteCall[] = [];
  #endReason: Error | undefined;
  #hasEnded = false;
  readonly #ended = Promise.withResolvers<void>();

  constructor(connection: Connection, script: URL, bus: Bus, onDeath: (failure: Error) => void) {
    connection.run("PRAGMA query_only = ON");
    this.#reads = new CachedReads(connection);
    this.#bus = bus;
    this.#onDeath = onDeath;
    this.#worker = new Worker(script);
    this.#worker.onmessage = ({ data }: { data: FromWriter }) => this.#receive(data);
    // Bun's message shows the source around the fault; its own line is enough.
    this.#worker.onerror = ({ message }) =>
      this.#die(`the writer died: ${/^\w*error: .*/im.exec(message)?.[0] ?? message}`);
    this.#worker.addEventListener("close", () => this.#die("the writer died: its thread ended"));
    this.#post({ open: connection.filename });
  }

  read<T>(work: (db: Db) => Promise<T>, keptAs?: string): Promise<T> {
    return this.#reads.read(work, keptAs);
  }

  write(store: string, method: string, args: unknown[]): Promise<unknown> {
    if (this.#endReason) return Promise.reject(this.#endReason);
    // One message a turn: calls of the same turn are committed together.
    if (this.#unsent.length === 0) queueMicrotask(() => this.#send());
    this.#unsent.push({ store, method, args });
    const { promise, resolve } = Promise.withResolvers<WriteReply>();
    this.#sent.push(resolve);
    return promise.then(readReply);
  }

  async close(): Promise<void> {
    this.#endReason ??= new Error("the database is closed");
    // Runs after the other writes of this turn.
    queueMicrotask(() => this.#post({ close: true }));
    await this.#ended.promise;
  }

  #post(message: ToWriter): void {
    this.#worker.postMessage(message);
  }

  #send(): void {
    const calls = this.#unsent;
    this.#unsent = [];
    try {
      this.#post({ calls: pack(calls) });
    } catch (failure) {
      // Arguments that are no plain data cannot be sent; this turn's calls are the last in `#sent`.
      for (const answer of this.#sent.splice(-calls.length)) answer({ bug: failure as Error });
    }
  }

  #receive(message: FromWriter): void {
    if ("committed" in message) {
      const { replies, notifications } = unpack(message.committed);
      for (const reply of replies) this.#sent.shift()!(reply);
      this.#bus.publish(notifications);
    } else if ("foreign" in message) this.#bus.publishUnknown();
    else if ("lost" in message) this.#die(new DatabaseLost(message.lost));
    else if ("closed" in message) this.#stop(this.#endReason!);
  }

  #stop(reason: Error): void {
    this.#endReason = reason;
    this.#hasEnded = true;
    for (const answer of this.#sent.splice(0)) answer({ bug: reason });
    this.#worker.terminate();
    this.#ended.resolve();
  }

  /** Waiting writes fail, and the process ends, since no later write could be stored. */
  #die(reason: Error | string): void {
    if (this.#hasEnded) return;
    const failure = typeof reason === "string" ? new Error(reason) : reason;
    this.#stop(failure);
    this.#onDeath(failure);
  }
}

/**
 * Reads of a connection that writes nothing. A kept row is used only while no process has committed
 * since; each read checks that anew, so an acknowledged write is visible to every later read.
 */
class CachedReads {
  readonly #db: Db;
  readonly #hasCommits: () => boolean;
  #kept = new Map<string, unknown>();

  constructor(connection: Connection) {
    this.#db = createExecutor(connection);
    this.#hasCommits = watchCommits(connection);
  }

  async read<T>(work: (db: Db) => Promise<T>, keptAs?: string): Promise<T> {
    if (keptAs === undefined) return work(this.#db);
    this.#refresh();
    const kept = this.#kept;
    const known = kept.get(keptAs);
    if (known !== undefined) return known as T;
    const found = await work(this.#db);
    // Missing rows are not kept: callers could make up names without end.
    if (found !== undefined) kept.set(keptAs, Object.freeze(found));
    return found;
  }

  /** Later reads use a new map, so that a read under way keeps nothing for them. */
  #refresh(): void {
    if (this.#hasCommits() || this.#kept.size >= CACHED_ROWS_MAX) this.#kept = new Map();
  }
}
