// What a process reads of a run before it goes on with it.
import { type Static, Type } from "@sinclair/typebox";
import { type Db, sql } from "../../../database/index.ts";
import { MessageRow } from "../../threads/thread.ts";
import type { RunRow } from "../run.ts";
import { StepRow } from "../step.ts";

const Summary = Type.Object({ through_seq: Type.Integer(), content: Type.String() });

/** Older messages have been summarised long before; nobody's thread may fill our memory. */
const MESSAGES_MAX = 2_000;
/** And no window is longer: whoever fills a thread would hold all others up at each of its runs. */
const CHARACTERS_MAX = 4_194_304;
const MESSAGES_AT_ONCE = 100;

/** The thread up to now, the run's own steps, and what stands for older messages. */
export async function loadLog(db: Db, run: RunRow) {
  const { id, thread_id, last_seq } = run;
  const summary = await db.one(
    Summary,
    sql`SELECT through_seq, content FROM thread_summaries WHERE thread_id = ${thread_id}`,
  );
  const messages = await loadNewest(db, run, summary?.through_seq ?? 0);
  const steps =
    last_seq === 0
      ? []
      : await db.all(StepRow, sql`SELECT * FROM steps WHERE run_id = ${id} ORDER BY seq`);
  return { messages, steps, summary: summary?.content ?? null };
}

type Messages = Static<typeof MessageRow>[];

/** The newest messages behind a place, in order. */
async function loadNewest(
  db: Db,
  { thread_id, message_seq }: RunRow,
  after_seq: number,
): Promise<Messages> {
  const newest: Messages = [];
  let characters = 0;
  while (newest.length < MESSAGES_MAX && characters < CHARACTERS_MAX) {
    const rows = await db.all(
      MessageRow,
      sql`SELECT * FROM messages WHERE thread_id = ${thread_id} AND seq > ${after_seq}
            AND seq < ${newest.at(-1)?.seq ?? message_seq + 1}
          ORDER BY seq DESC LIMIT ${MESSAGES_AT_ONCE}`,
    );
    for (const row of rows) {
      if (characters >= CHARACTERS_MAX) break;
      characters += countCharacters(row);
      newest.push(row);
    }
    if (rows.length < MESSAGES_AT_ONCE) break;
  }
  return newest.reverse();
}

function countCharacters({ content, tool_calls }: Messages[number]): number {
  const calls = tool_calls ?? [];
  return calls.reduce((sum, { arguments: text }) => sum + text.length, content?.length ?? 0);
}
