// The notes of agents: read by their tools, written with the results of their calls.
import { Type } from "@sinclair/typebox";
import { cleanText, into, sql, store, type Tx } from "../../platform/database/index.ts";
import { ListedNote, type NoteEffect, NoteRow } from "./note.ts";

const Count = Type.Object({ count: Type.Integer() });

export const noteStore = store(
  "notes",
  {
    /** By their keys. */
    list: (db, agent_id: string) =>
      db.all(
        ListedNote,
        sql`SELECT key, OCTET_LENGTH(content) AS content_bytes, external FROM notes
            WHERE agent_id = ${agent_id} ORDER BY key`,
      ),
    find: (db, agent_id: string, key: string) =>
      db.one(
        NoteRow,
        sql`SELECT * FROM notes WHERE agent_id = ${agent_id} AND key = ${cleanText(key)}`,
      ),
    count: async (db, agent_id: string) =>
      (await db.one(Count, sql`SELECT COUNT(*) AS count FROM notes WHERE agent_id = ${agent_id}`))!
        .count,
  },
  {},
);

/**
 * A part: what a call does to its agent's notes, in the transaction of its result. `external`: its
 * run has read content from outside, and whoever reads the note will have, too.
 */
export async function applyNoteEffect(
  tx: Tx,
  agent_id: string,
  effect: NoteEffect,
  external: boolean,
  now: number,
): Promise<void> {
  if ("delete" in effect) {
    const key = cleanText(effect.delete.key);
    await tx.run(sql`DELETE FROM notes WHERE agent_id = ${agent_id} AND key = ${key}`);
    return;
  }
  const key = cleanText(effect.set.key);
  const content = cleanText(effect.set.content);
  const row = { agent_id, key, content, external, created_at: now, updated_at: now };
  await tx.run(
    sql`INSERT INTO notes ${into(NoteRow, row)}
        ON CONFLICT (agent_id, key) DO UPDATE SET content = excluded.content,
          external = excluded.external, updated_at = excluded.updated_at`,
  );
}
