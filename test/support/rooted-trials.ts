// A store for tests whose writes name their root row, which engines may commit in groups.
import { Type } from "@sinclair/typebox";
import { into, sql, store, withRoots } from "../../src/database/index.ts";
import { apiError } from "../../src/platform/errors.ts";
import { makeTrial, Trial } from "./trial.ts";

const Whole = Type.Object({ whole: Type.Integer() });

const declared = store(
  "rooted trials",
  {},
  {
    add: async (tx, id: string) => {
      await tx.run(sql`INSERT INTO trials ${into(Trial, makeTrial(id))}`);
      tx.tell("trial", id);
      return id;
    },
    refuse: async (tx, id: string) => {
      await tx.one(Whole, sql`SELECT whole FROM trials WHERE id = ${id}`);
      tx.tell("trial", id);
      throw apiError("thread_busy", { param: "thread_id" });
    },
    break: async (tx, id: string) => {
      await tx.run(sql`INSERT INTO trials ${into(Trial, makeTrial(id))}`);
      tx.tell("trial", id);
      throw new TypeError(`a bug at ${id}`);
    },
    /** Reads and writes: without the lock of the row, two processes would lose an increment. */
    increment: async (tx, id: string) => {
      const row = await tx.one(
        Whole,
        sql`SELECT whole FROM trials WHERE id = ${id} ${tx.forUpdate}`,
      );
      const whole = row!.whole + 1;
      await tx.run(sql`UPDATE trials SET whole = ${whole} WHERE id = ${id}`);
      return whole;
    },
  },
);

export const rootedTrialStore = withRoots(declared, {
  add: (id) => id,
  refuse: (id) => id,
  break: (id) => id,
  increment: (id) => id,
});
