// The contract of stores: reads, and writes that are one transaction each.
import type { Static, TObject } from "@sinclair/typebox";
import type { Sql } from "./sql.ts";

/** Reads see what was committed. */
export interface Db {
  all<S extends TObject>(schema: S, query: Sql): Promise<Static<S>[]>;
  one<S extends TObject>(schema: S, query: Sql): Promise<Static<S> | undefined>;
  /** Locks of the rows read, such as `FOR UPDATE`; empty where the engine has one writer. */
  readonly forUpdate: Sql;
  readonly forShare: Sql;
  readonly skipLocked: Sql;
  /** Wall time of the database in milliseconds, also within a transaction. */
  readonly clock: Sql;
}

/**
 * Transaction of a write, which awaits nothing else and may run again from its start. Await all
 * statements that are sent at once together: one that fails meanwhile would end the process.
 */
export interface Tx extends Db {
  run(query: Sql): Promise<number>;
  /**
   * Called behind the last statements and before their results are awaited: the write cannot fail
   * any more but by one of them. Engines may commit in the same round trip.
   */
  commitEarly(): void;
  /** Wakes the listeners of `channel` after the commit, which is cheapest before `commitEarly`. */
  tell(channel: string, id: string): void;
}

/** One transaction of an engine. */
export interface Executor extends Omit<Tx, "tell" | "commitEarly"> {
  /** `told`: notifications of the write so far. */
  commitEarly(told?: readonly Notification[]): void;
}

type Method<D> = (db: D, ...args: never[]) => Promise<unknown>;
export type Methods<D> = Record<string, Method<D>>;

export interface Store<R extends Methods<Db> = Methods<Db>, W extends Methods<Tx> = Methods<Tx>> {
  readonly name: string;
  readonly reads: R;
  readonly writes: W;
  /** Frequent reads of one row by texts, which may be answered from memory. */
  readonly kept: readonly string[];
  /**
   * Finds the root row of a frequent write, which locks that row first. Engines may commit several
   * such writes in one transaction; those of one root run one after the other.
   */
  readonly roots?: Record<string, (...args: never[]) => string>;
}

/**
 * Declares a store. Arguments and results of writes are plain data, because they cross a Worker.
 * Engines may keep the rows of `kept` reads until the next commit of any process.
 */
export function store<R extends Methods<Db>, W extends Methods<Tx>>(
  name: string,
  reads: R,
  writes: W,
  kept: readonly (keyof R & string)[] = [],
): Store<R, W> {
  return { name, reads, writes, kept };
}

type Roots<W> = { [K in keyof W]?: FindRoot<W[K]> };
type FindRoot<M> = M extends (db: never, ...args: infer A) => unknown
  ? (...args: A) => string
  : never;

/** The store with the roots of its frequent writes, each found in the arguments. */
export function withRoots<S extends Store>(one: S, roots: Roots<S["writes"]>): S {
  return { ...one, roots };
}

type Unbound<M> = M extends (db: never, ...args: infer A) => infer P ? (...args: A) => P : never;

export type Bound<S> =
  S extends Store<infer R, infer W>
    ? { [K in keyof R]: Unbound<R[K]> } & { [K in keyof W]: Unbound<W[K]> }
    : never;

/** Channel of all writes: each wakes it with its name, such as `keys.create`. */
export const WROTE = "wrote";

/** `isOwn`: this process wrote it. The id is null where notifications may be missing. */
export type WakeListener = (id: string | null, isOwn: boolean) => void;

export type Notification = readonly [channel: string, id: string];

export type DatabaseLocation =
  /** `image` is a database as bytes, which it begins with. */
  | { kind: "memory"; image?: Uint8Array }
  /** `writer` is the script of the writer Worker; without it, writes run inline. */
  | { kind: "sqlite"; file: string; writer?: URL }
  /** A single connection, as PGlite gives, means that no other process is there. */
  | {
      kind: "postgres";
      url: string;
      connectionsMax: number;
      /** A pgbouncer in transaction mode, for the work; what needs a session goes to `url`. */
      pooler?: string;
      /** Several processes serve the data, and tell each other of every write. */
      isShared?: boolean;
    };

export interface DatabaseEngine {
  readonly name: "sqlite" | "memory" | "postgres";
  /** `keptAs` names a row that may be kept until the next commit. */
  read<T>(work: (db: Db) => Promise<T>, keptAs?: string): Promise<T>;
  write(store: string, method: string, args: unknown[]): Promise<unknown>;
  close(): Promise<void>;
}

export interface DatabaseSize {
  bytes: number | null;
  /** Bytes of SQLite's log of commits. */
  wal_bytes: number | null;
}

export interface Database {
  readonly engine: DatabaseEngine["name"];
  /** Other processes may serve the same data. */
  readonly isShared: boolean;
  bind<S extends Store>(store: S): Bound<S>;
  /**
   * Calls `run` after every commit that wakes `channel`, in any process. The returned function
   * stops it.
   */
  listen(channel: string, run: WakeListener): () => void;
  /** Bytes on the disk; null where they cannot be known. */
  measure(): Promise<DatabaseSize>;
  probe(): Promise<void>;
  /** Takes the lock of a server that was opened with `exclusive: "later"`. */
  lock(): Promise<void>;
  close(): Promise<void>;
}
