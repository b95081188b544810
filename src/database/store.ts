// The contract of every cellar: a store is reads and writes, each write one transaction.
import type { Static, TObject } from "@sinclair/typebox";
import type { Sql } from "./sql.ts";

/** What a read may use: it sees what was committed. */
export interface Db {
  /** Every row, read through `schema`: nothing is taken from a row that is not in it. */
  all<S extends TObject>(schema: S, query: Sql): Promise<Static<S>[]>;
  /** The first row, or undefined. */
  one<S extends TObject>(schema: S, query: Sql): Promise<Static<S> | undefined>;
  /** `FOR UPDATE SKIP LOCKED` where the engine has it, else empty. */
  readonly skipLocked: Sql;
}

/** What a write may use. It awaits nothing but this and may be run again from its start. */
export interface Tx extends Db {
  /** Runs a statement; the number of rows it changed. */
  run(query: Sql): Promise<number>;
  /** After the commit, says "look again" to whoever listens on `channel`; it carries no data. */
  tell(channel: string, id: string): void;
}

type Method<D> = (db: D, ...args: never[]) => Promise<unknown>;
export type Methods<D> = Record<string, Method<D>>;

export interface Store<R extends Methods<Db> = Methods<Db>, W extends Methods<Tx> = Methods<Tx>> {
  readonly name: string;
  readonly reads: R;
  readonly writes: W;
  /** Reads of every request, by texts, of one row that nobody changes. */
  readonly kept: readonly string[];
}

/**
 * Declares a store. Arguments and results of writes are plain data: they cross a Worker. An engine
 * may answer `kept` reads from memory for as long as nothing was committed, by whomever.
 */
export function store<R extends Methods<Db>, W extends Methods<Tx>>(
  name: string,
  reads: R,
  writes: W,
  kept: readonly (keyof R & string)[] = [],
): Store<R, W> {
  return { name, reads, writes, kept };
}

type Unbound<M> = M extends (db: never, ...args: infer A) => infer P ? (...args: A) => P : never;

/** A store's methods without their first argument, as a house uses them. */
export type Bound<S> =
  S extends Store<infer R, infer W>
    ? { [K in keyof R]: Unbound<R[K]> } & { [K in keyof W]: Unbound<W[K]> }
    : never;

/** What a commit told: a channel, and the id that changed on it. */
export type Notification = readonly [channel: string, id: string];

/** One way to run reads and writes. */
export interface DatabaseEngine {
  readonly name: "sqlite" | "memory" | "postgres";
  /** `keptAs` names a read that may be answered from memory while nothing was committed. */
  read<T>(work: (db: Db) => Promise<T>, keptAs?: string): Promise<T>;
  /** Runs the write `method` of the store `name` as one transaction; throws what it threw. */
  write(name: string, method: string, args: unknown[]): Promise<unknown>;
  /** Ends behind the last write; the connection is closed by who opened it. */
  close(): Promise<void>;
}

export interface Database {
  readonly engine: DatabaseEngine["name"];
  bind<S extends Store>(store: S): Bound<S>;
  /**
   * Calls `run` after every commit that told `channel`, in this process or another, with null where
   * nobody knows what changed; returns the way out.
   */
  listen(channel: string, run: (id: string | null) => void): () => void;
  /** Throws when the database cannot be written to. */
  probe(): Promise<void>;
  close(): Promise<void>;
}
