// Notes, which an agent keeps beyond its runs: read by its tools, written with their results.
import { type Static, Type } from "@sinclair/typebox";
import {
  cleanText,
  countRows,
  deleteRows,
  into,
  sql,
  store,
  type Tx,
} from "../../database/index.ts";
import { countStored, measureRow, ROW_BYTES } from "../../storage/store.ts";

export const NoteRow = Type.Object({
  agent_id: Type.String(),
  key: Type.String(),
  content: Type.String(),
  /** Marks a note of a run that had read content from outside. */
  external: Type.Boolean(),
  created_at: Type.Integer(),
  updated_at: Type.Integer(),
});
export type NoteRow = Static<typeof NoteRow>;

const ListedNote = Type.Object({
  key: Type.String(),
  content_bytes: Type.Integer(),
  external: Type.Boolean(),
});

export type NoteEffect = { set: { key: string; content: string } } | { delete: { key: string } };

const Size = Type.Object({ content_bytes: Type.Integer() });

export const noteStore = store(
  "notes",
  {
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
    count: (db, agent_id: string) => countRows(db, sql`FROM notes WHERE agent_id = ${agent_id}`),
  },
  {},
);

/**
 * Applies a call's change in the transaction of its result. A note keeps the taint of its run,
 * since reading it means reading content from outside.
 */
export async function applyNoteEffect(
  tx: Tx,
  { account_id, agent_id }: { account_id: string; agent_id: string },
  effect: NoteEffect,
  external: boolean,
  now: number,
): Promise<void> {
  const key = cleanText("delete" in effect ? effect.delete.key : effect.set.key);
  const before = await tx.one(
    Size,
    sql`SELECT OCTET_LENGTH(content) AS content_bytes FROM notes
        WHERE agent_id = ${agent_id} AND key = ${key}`,
  );
  const freed = before ? ROW_BYTES + before.content_bytes : 0;
  if ("delete" in effect) {
    await tx.run(sql`DELETE FROM notes WHERE agent_id = ${agent_id} AND key = ${key}`);
    return countStored(tx, account_id, "runs", -freed);
  }
  const content = cleanText(effect.set.content);
  const row = { agent_id, key, content, external, created_at: now, updated_at: now };
  await tx.run(
    sql`INSERT INTO notes ${into(NoteRow, row)}
        ON CONFLICT (agent_id, key) DO UPDATE SET content = excluded.content,
          external = excluded.external, updated_at = excluded.updated_at`,
  );
  await countStored(tx, account_id, "runs", measureRow(content) - freed);
}

/** Part of a transaction: deletes up to `limit` notes of an agent; returns how many. */
export function deleteNotes(tx: Tx, agent_id: string, limit: number): Promise<number> {
  const where = sql`agent_id = ${agent_id}`;
  return deleteRows(tx, { table: sql`notes`, key: sql`agent_id, key`, where }, limit);
}
