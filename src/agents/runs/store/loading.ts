// What a process reads of a run before it goes on with it.
import { Type } from "@sinclair/typebox";
import { type Db, sql } from "../../../platform/database/index.ts";
import { VersionRow } from "../../definitions/version.ts";
import { MessageRow } from "../../threads/thread.ts";
import type { RunRow } from "../run.ts";
import { StepRow } from "../step.ts";

const Summary = Type.Object({ through_seq: Type.Integer(), content: Type.String() });

/** Older messages have been summarised long before; nobody's thread may fill our memory. */
const MESSAGES_MAX = 2_000;

/** The thread up to now, the run's own steps, and what stands for older messages. */
export async function loadLog(db: Db, { id, thread_id, last_seq }: RunRow) {
  const summary = await db.one(
    Summary,
    sql`SELECT through_seq, content FROM thread_summaries WHERE thread_id = ${thread_id}`,
  );
  const newest = await db.all(
    MessageRow,
    sql`SELECT * FROM messages WHERE thread_id = ${thread_id}
          AND seq > ${summary?.through_seq ?? 0}
        ORDER BY seq DESC LIMIT ${MESSAGES_MAX}`,
  );
  const steps =
    last_seq === 0
      ? []
      : await db.all(StepRow, sql`SELECT * FROM steps WHERE run_id = ${id} ORDER BY seq`);
  return { messages: newest.reverse(), steps, summary: summary?.content ?? null };
}

export function findVersion(db: Db, agent_id: string, version: number) {
  return db.one(
    VersionRow,
    sql`SELECT * FROM agent_versions WHERE agent_id = ${agent_id} AND version = ${version}`,
  );
}
