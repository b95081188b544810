// The store of threads and messages, for reads: the store of runs writes both with their runs.
import { type Static, Type } from "@sinclair/typebox";
import {
  type Db,
  type DeletedPart,
  deleteRows,
  deleteTrees,
  findPageEnd,
  none,
  type Sql,
  sql,
  store,
  type Tx,
} from "../../database/index.ts";
import { maybe, Row } from "../../platform/schema.ts";
import { MessageRow, ThreadRow } from "./thread.ts";

const Id = Type.Object({ id: Type.String() });

const FoundThread = Row(ThreadRow, {
  active_run_id: maybe(Type.String()),
  message_count: Type.Integer(),
  updated_at: Type.Integer(),
});
export type FoundThread = Static<typeof FoundThread>;

export interface ThreadFilter {
  account_id: string;
  agent_id: string | null;
  before: { at: number; id: string } | null;
  limit: number;
}

const MESSAGE_BYTES = sql`COALESCE(OCTET_LENGTH(content), 0)
  + COALESCE(OCTET_LENGTH(tool_calls), 0) + COALESCE(OCTET_LENGTH(parts), 0)`;

export const threadStore = store(
  "threads",
  {
    /** agents.authentication.6 */
    find: async (db, id: string, account_id: string) => {
      const [thread] = await listThreads(db, sql`WHERE id = ${id}`);
      return thread?.account_id === account_id ? thread : undefined;
    },
    list: (db, { account_id, agent_id, before, limit }: ThreadFilter) =>
      listThreads(
        db,
        sql`WHERE account_id = ${account_id}
            ${agent_id === null ? none : sql`AND agent_id = ${agent_id}`}
            ${before ? sql`AND (created_at, id) < (${before.at}, ${before.id})` : none}
            ORDER BY created_at DESC, id DESC LIMIT ${limit}`,
      ),
    /** Next messages, up to `limit` and to the bytes of a piece. */
    listMessages: (db, thread_id: string, after_seq: number, limit: number) => {
      const next = sql`FROM messages WHERE thread_id = ${thread_id} AND seq > ${after_seq}`;
      const end = findPageEnd(next, MESSAGE_BYTES, limit);
      return db.all(MessageRow, sql`SELECT * ${next} AND seq <= (${end}) ORDER BY seq`);
    },
  },
  {},
);

/** Part of a transaction: taints a thread that stores content from outside. */
export async function markThread(tx: Tx, thread_id: string): Promise<void> {
  await tx.run(
    sql`UPDATE threads SET external_content = 1 WHERE id = ${thread_id} AND external_content = 0`,
  );
}

/** Message numbers have no gaps, so that the newest one is the count. */
function listThreads(db: Db, which: Sql): Promise<FoundThread[]> {
  return db.all(
    FoundThread,
    sql`SELECT id, account_id, agent_id, title, external_content, created_at,
          (SELECT runs.id FROM runs
           WHERE runs.thread_id = threads.id AND runs.finished_at IS NULL) AS active_run_id,
          COALESCE((SELECT messages.seq FROM messages WHERE messages.thread_id = threads.id
           ORDER BY messages.seq DESC LIMIT 1), 0) AS message_count,
          COALESCE((SELECT messages.created_at FROM messages
           WHERE messages.thread_id = threads.id
           ORDER BY messages.seq DESC LIMIT 1), created_at) AS updated_at
        FROM threads ${which}`,
  );
}

/** Part of a transaction: deletes threads of an account with their messages. */
export function deleteThreads(tx: Tx, account_id: string, limit: number): Promise<DeletedPart> {
  const key = sql`thread_id, seq`;
  const tree = {
    find: () => tx.one(Id, sql`SELECT id FROM threads WHERE account_id = ${account_id} LIMIT 1`),
    deleteChildren: ({ id }: { id: string }, most: number) =>
      deleteRows(tx, { table: sql`messages`, key, where: sql`thread_id = ${id}` }, most),
    async deleteParent({ id }: { id: string }) {
      await tx.run(sql`DELETE FROM thread_summaries WHERE thread_id = ${id}`);
      await tx.run(sql`DELETE FROM threads WHERE id = ${id}`);
    },
  };
  return deleteTrees(tree, limit);
}
