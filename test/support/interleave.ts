// Runs two writes in two sessions of PostgreSQL in every order of their statements.
import { type ReservedSQL, SQL } from "bun";
import { createRegistry } from "../../src/database/index.ts";
import { executeOn } from "../../src/database/postgres-executor.ts";
import { isCollision, stateOf } from "../../src/database/postgres-failures.ts";
import { runWrite } from "../../src/database/registry.ts";
import { ApiError } from "../../src/platform/errors.ts";
import { stores } from "../../src/stores.ts";

/** `runs.start` with its arguments. */
export type NamedWrite = readonly [name: string, ...args: unknown[]];

/** What both answered, and every row afterwards. */
export interface Interleaved {
  answers: readonly string[];
  rows: readonly string[];
  /** Attempts that PostgreSQL ended, so that an engine would repeat them. */
  collisions: readonly string[];
}

interface Session {
  runner: ReservedSQL;
  pid: number;
}

type Gate = () => Promise<void>;
const OPEN: Gate = async () => {};

export class Interleaver {
  readonly #registry = createRegistry(stores);
  readonly #pool: SQL;
  #tables: string | undefined;
  #sessions: readonly [Session, Session] | undefined;

  constructor(url: string) {
    this.#pool = new SQL({ url, max: 4 });
  }

  /** One after the other, as the reference. */
  async runInTurn(first: NamedWrite, second: NamedWrite): Promise<Interleaved> {
    const [session] = await this.#open();
    const answers = [await this.#attempt(session, first, OPEN)];
    answers.push(await this.#attempt(session, second, OPEN));
    return { answers: answers.map(String), rows: await this.#readRows(), collisions: [] };
  }

  /**
   * Holds `first` before its statement `at`, or before its commit, until `second` has ended or
   * waits for a lock. Returns null where `first` has fewer statements.
   */
  async hold(first: NamedWrite, at: number, second: NamedWrite): Promise<Interleaved | null> {
    const [one, two] = await this.#open();
    const held = Promise.withResolvers<"held">();
    const released = Promise.withResolvers<void>();
    let statements = 0;
    const gate = async () => {
      if (statements++ < at) return;
      held.resolve("held");
      await released.promise;
    };
    const earlier = this.#attempt(one, first, gate);
    if ((await Promise.race([held.promise, earlier])) !== "held") return null;
    let isOver = false;
    const later = this.#attempt(two, second, OPEN).finally(() => {
      isOver = true;
    });
    while (!isOver && !(await this.#isBlocked(two))) await Promise.resolve();
    released.resolve();
    const answers = await Promise.all([earlier, later]);
    const collisions: string[] = [];
    for (const [which, write] of [first, second].entries()) {
      for (let answer = answers[which]!; answer.startsWith("collision"); ) {
        collisions.push(`${write[0]} ${answer}`);
        // An engine repeats what failed in a group alone.
        answer = await this.#attempt(one, write, OPEN, true);
        answers[which] = answer;
      }
    }
    return { answers, rows: await this.#readRows(), collisions };
  }

  async close(): Promise<void> {
    await this.#pool.close({ timeout: 0 });
  }

  async #open(): Promise<readonly [Session, Session]> {
    this.#sessions ??= [await this.#reserve(), await this.#reserve()];
    return this.#sessions;
  }

  async #reserve(): Promise<Session> {
    const runner = await this.#pool.reserve();
    const [{ pid }] = await runner.unsafe("SELECT pg_backend_pid() AS pid");
    return { runner, pid };
  }

  /** Runs a write as the engine would: those with a root row without serializable isolation. */
  async #attempt(
    { runner }: Session,
    [name, ...args]: NamedWrite,
    gate: Gate,
    isAlone = false,
  ): Promise<string> {
    const [store, method] = name.split(".") as [string, string];
    const isGrouped = !isAlone && this.#registry.get(store)?.roots?.[method] !== undefined;
    await runner.unsafe(`BEGIN ISOLATION LEVEL ${isGrouped ? "READ COMMITTED" : "SERIALIZABLE"}`);
    const executor = executeOn(runner);
    let isOver = false;
    const pass = async () => {
      await gate();
      if (isOver) throw new Error("its transaction is over");
    };
    const tx = {
      ...executor,
      all: (async (...query) => {
        await pass();
        return executor.all(...query);
      }) as typeof executor.all,
      one: (async (...query) => {
        await pass();
        return executor.one(...query);
      }) as typeof executor.one,
      run: (async (...query) => {
        await pass();
        return executor.run(...query);
      }) as typeof executor.run,
    };
    try {
      const value = await runWrite(this.#registry, tx, [], { store, method, args });
      await gate();
      await runner.unsafe("COMMIT");
      return JSON.stringify(value) ?? "nothing";
    } catch (failure) {
      isOver = true;
      await runner.unsafe("ROLLBACK");
      if (failure instanceof ApiError) return `refused: ${failure.code}`;
      // The engine repeats whatever fails in a group, and otherwise what has collided.
      if (!isGrouped && !isCollision(failure)) throw failure;
      return `collision ${stateOf(failure)}`;
    }
  }

  async #isBlocked({ pid }: Session): Promise<boolean> {
    const [row] = await this.#pool`SELECT cardinality(pg_blocking_pids(${pid}))::int AS n`;
    return row.n > 0;
  }

  async #readRows(): Promise<string[]> {
    this.#tables ??= await this.#writeReading();
    const rows = (await this.#pool.unsafe(this.#tables)) as { row: string }[];
    return rows.map(({ row }) => row).toSorted();
  }

  async #writeReading(): Promise<string> {
    const tables = await this.#pool`SELECT relname AS name FROM pg_class
      WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname NOT LIKE 'wadi_%'`;
    return (tables as { name: string }[])
      .map(({ name }) => `SELECT '${name} ' || to_jsonb(t)::text AS row FROM "${name}" AS t`)
      .join(" UNION ALL ");
  }
}
