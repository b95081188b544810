// The row of the installation: its identity, its pause after a restore, and where it has moved.
import { type Static, Type } from "@sinclair/typebox";
import { sql, store } from "../database/index.ts";
import { maybe } from "../platform/schema.ts";

const InstallationRow = Type.Object({
  id: Type.String(),
  /** Id of the installation whose backup this one was restored from. */
  restored_from: maybe(Type.String()),
  restored_at: maybe(Type.Integer()),
  /** While set, nothing fires, is delivered or is claimed. */
  paused_at: maybe(Type.Integer()),
  /** Place of the data after a move; no program opens this database any more. */
  moved_to: maybe(Type.String()),
  moved_at: maybe(Type.Integer()),
});
export type InstallationRow = Static<typeof InstallationRow>;

/** Channel on which the end of a pause is told. */
const CHANNEL = "installation";

const FIND = sql`SELECT id, restored_from, restored_at, paused_at, moved_to, moved_at
  FROM wadi_installation`;

export const installationStore = store(
  "installation",
  {
    find: async (db): Promise<InstallationRow> => (await db.one(InstallationRow, FIND))!,
  },
  {
    /** Makes this database, filled from a backup, an installation of its own that is paused. */
    adopt: async (tx, id: string, restored_from: string | null, now: number): Promise<void> => {
      await tx.run(
        sql`UPDATE wadi_installation SET id = ${id}, restored_from = ${restored_from},
              restored_at = ${now}, paused_at = ${now}, moved_to = ${null}, moved_at = ${null}`,
      );
    },
    /** Notes where the data has moved, from when on no program opens this database; null: here. */
    noteMove: async (tx, moved_to: string | null, now: number): Promise<void> => {
      const moved_at = moved_to === null ? null : now;
      await tx.run(
        sql`UPDATE wadi_installation SET moved_to = ${moved_to}, moved_at = ${moved_at}`,
      );
    },
    /** Ends the pause; returns false where there was none. */
    resume: async (tx): Promise<boolean> => {
      const resumed = await tx.run(
        sql`UPDATE wadi_installation SET paused_at = ${null} WHERE paused_at IS NOT NULL`,
      );
      if (resumed > 0) tx.tell(CHANNEL, "");
      return resumed > 0;
    },
  },
);
