// Model servers that the gateway starts: how each was left, and how long its last starts took.
import { type Static, Type } from "@sinclair/typebox";
import { type Bound, sql, store, type Tx } from "../../database/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { maybe, Timestamp } from "../../platform/schema.ts";

const RECENT_STARTS = 5;

/** `asleep`: down · `stopped`: by us, being idle · `failed`: its last start did. */
export type ManagedServerState = "asleep" | "starting" | "up" | "stopping" | "stopped" | "failed";

const Row = Type.Object({
  id: Type.String(),
  state: Type.Unsafe<ManagedServerState>({ type: "string" }),
  /** Wadi stopped it: it has to be started, whatever its health says. */
  is_put_down: Type.Boolean(),
  changed_at: Timestamp("When it came into that state."),
  starts: Type.Integer(),
  /** Latest first. */
  recent_starts_ms: Type.Array(Type.Integer()),
  started_at: maybe(Timestamp("When we last started it.")),
  stopped_at: maybe(Timestamp("When we last stopped it.")),
});
export type ManagedServerRow = Static<typeof Row>;

const Use = Type.Object({ uses: Type.Integer(), is_put_down: Type.Boolean() });

export const managedServerStore = store(
  "units",
  {
    find: (db, id: string) => db.one(Row, sql`SELECT * FROM units WHERE id = ${id}`),
    list: (db) => db.all(Row, sql`SELECT * FROM units ORDER BY id`),
    findUse: (db, id: string) =>
      db.one(Use, sql`SELECT uses, is_put_down FROM units WHERE id = ${id}`),
  },
  {
    note: async (tx, id: string, state: ManagedServerState, is_put_down: boolean, now: number) =>
      noteState(tx, id, state, is_put_down, now),
    /** Tells other processes of a use. */
    use: (tx, id: string) =>
      tx.one(
        Use,
        sql`UPDATE units SET uses = uses + 1 WHERE id = ${id} RETURNING uses, is_put_down`,
      ),
    /** Notes a stop, unless the server was used since `uses`. */
    async beginStop(tx, id: string, uses: number, now: number): Promise<boolean> {
      const begun = await tx.run(
        sql`UPDATE units SET state = 'stopping', is_put_down = ${true}, changed_at = ${now}
            WHERE id = ${id} AND uses = ${uses}`,
      );
      return begun === 1;
    },
    learn: async (tx, id: string, start_ms: number, now: number) => {
      await noteState(tx, id, "up", false, now);
      const known = (await tx.one(Row, sql`SELECT * FROM units WHERE id = ${id}`))!;
      const recent = JSON.stringify(addStart(known.recent_starts_ms, start_ms));
      await tx.run(
        sql`UPDATE units SET starts = starts + 1, recent_starts_ms = ${recent}, started_at = ${now}
            WHERE id = ${id}`,
      );
    },
  },
);

function addStart(recentStartsMs: readonly number[], startMs: number): number[] {
  return [startMs, ...recentStartsMs].slice(0, RECENT_STARTS);
}

export function findUsualStart(recentStartsMs: readonly number[]): number | null {
  const sorted = [...recentStartsMs].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? null;
}

async function noteState(
  tx: Tx,
  id: string,
  state: ManagedServerState,
  is_put_down: boolean,
  now: number,
): Promise<void> {
  const stopped_at = state === "stopped" ? now : null;
  await tx.run(
    sql`INSERT INTO units
        (id, state, is_put_down, changed_at, starts, recent_starts_ms, started_at, stopped_at)
        VALUES (${id}, ${state}, ${is_put_down}, ${now}, 0, '[]', NULL, ${stopped_at})
        ON CONFLICT (id) DO UPDATE SET state = excluded.state, is_put_down = excluded.is_put_down,
          changed_at = excluded.changed_at,
          stopped_at = COALESCE(excluded.stopped_at, units.stopped_at), uses = units.uses + 1`,
  );
}

export type StartHistoryStore = Bound<typeof managedServerStore>;

export class StartHistory {
  readonly #id: string;
  readonly #store: StartHistoryStore;
  readonly #clock: Clock;
  readonly #onFailure: (failure: unknown) => void;
  /** Wadi stopped the server and has not seen it up or down since: its health is not trusted. */
  isStoppedByUs = false;
  #recentStartsMs: number[] = [];
  #recalled: Promise<void> | undefined;
  /** Writes follow one another, so that the last state stands. */
  #lastWrite: Promise<void> = Promise.resolve();

  constructor(
    id: string,
    store: StartHistoryStore,
    clock: Clock,
    onFailure: (failure: unknown) => void,
  ) {
    this.#id = id;
    this.#store = store;
    this.#clock = clock;
    this.#onFailure = onFailure;
  }

  /** Reads once what the process before noted; `again` reads what others have noted since. */
  recall(again: boolean): Promise<void> {
    if (again) this.#recalled = this.#lastWrite.then(() => this.#read());
    this.#recalled ??= this.#read();
    return this.#recalled;
  }

  /** Resolves when all notes are written. */
  written(): Promise<void> {
    return this.#lastWrite;
  }

  note(state: ManagedServerState): Promise<void> {
    const now = this.#clock.now();
    const { isStoppedByUs } = this;
    return this.#write(() => this.#store.note(this.#id, state, isStoppedByUs, now));
  }

  learn(startMs: number): number {
    const now = this.#clock.now();
    this.#recentStartsMs = addStart(this.#recentStartsMs, startMs);
    void this.#write(() => this.#store.learn(this.#id, startMs, now));
    return findUsualStart(this.#recentStartsMs)!;
  }

  async #read(): Promise<void> {
    try {
      const row = await this.#store.find(this.#id);
      this.#recentStartsMs = row?.recent_starts_ms ?? [];
      this.isStoppedByUs = row?.is_put_down ?? false;
    } catch (failure) {
      this.#onFailure(failure);
    }
  }

  #write(run: () => Promise<void>): Promise<void> {
    this.#lastWrite = this.#lastWrite.then(run).catch(this.#onFailure);
    return this.#lastWrite;
  }
}
