// Reads of threads, runs and approvals that their stores do not offer.
import { Type } from "@sinclair/typebox";
import { ApprovalRow } from "../../src/agents/approvals/approval.ts";
import { MessageRow } from "../../src/agents/threads/thread.ts";
import { type Database, sql, store } from "../../src/database/index.ts";

const Counts = Type.Object({ account_id: Type.String(), active: Type.Integer() });
const Summary = Type.Object({ through_seq: Type.Integer(), content: Type.String() });

const reader = store(
  "thread-reader",
  {
    counts: (db) =>
      db.all(Counts, sql`SELECT account_id, active FROM run_counts ORDER BY account_id`),
    messages: (db, thread_id: string) =>
      db.all(MessageRow, sql`SELECT * FROM messages WHERE thread_id = ${thread_id} ORDER BY seq`),
    approvals: (db) => db.all(ApprovalRow, sql`SELECT * FROM approvals ORDER BY id`),
    summary: (db, thread_id: string) =>
      db.one(
        Summary,
        sql`SELECT through_seq, content FROM thread_summaries WHERE thread_id = ${thread_id}`,
      ),
  },
  {},
);

export const readThreads = (database: Database) => database.bind(reader);
