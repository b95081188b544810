// The log of a run: the thread and the steps from which it is restored, explained or repeated.
import { Type } from "@sinclair/typebox";
import { type Db, sql } from "../../../database/index.ts";
import { MessageRow } from "../../threads/thread.ts";
import type { RunRow } from "../run.ts";
import { StepRow } from "../step.ts";
import type { ThreadHistory } from "./start.ts";

const Summary = Type.Object({ through_seq: Type.Integer(), content: Type.String() });

/** Maximum messages of a thread in memory; older ones have long been summarised. */
const MESSAGES_MAX = 2_000;
/** Maximum characters of a thread in memory, more than any context window holds. */
const CHARACTERS_MAX = 4_194_304;
const MESSAGES_AT_ONCE = 100;

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
  const summarisedTo = summary?.through_seq ?? null;
  return { messages, steps, summary: summary?.content ?? null, summarisedTo };
}

/**
 * Loads the messages behind `summarised_to`, up to `message_seq`. The summary up to there is null
 * once a later one has replaced it.
 */
export async function loadBefore(
  db: Db,
  thread_id: string,
  message_seq: number,
  summarised_to: number | null,
) {
  const summary = await db.one(
    Summary,
    sql`SELECT through_seq, content FROM thread_summaries
        WHERE thread_id = ${thread_id} AND through_seq = ${summarised_to}`,
  );
  const messages = await loadNewest(db, { thread_id, message_seq }, summarised_to ?? 0);
  return { messages, summary: summary?.content ?? null };
}

/** Maximum messages and characters of a thread that are copied for a rerun. */
const COPY_BOUNDS: LoadBounds = { messagesMax: 500, charactersMax: 1_048_576 };

/**
 * Loads the messages that a run found in its thread when it started, numbered from 1. Returns
 * undefined if there were none.
 */
export async function loadHistory(
  db: Db,
  { id, thread_id }: Pick<RunRow, "id" | "thread_id">,
): Promise<ThreadHistory | undefined> {
  const first = await db.one(
    FirstMessage,
    sql`SELECT seq, (SELECT external_content FROM threads WHERE id = ${thread_id}) AS external
        FROM messages WHERE thread_id = ${thread_id} AND run_id = ${id} ORDER BY seq LIMIT 1`,
  );
  if (!first) return undefined;
  const summary = await db.one(
    Summary,
    sql`SELECT through_seq, content FROM thread_summaries
        WHERE thread_id = ${thread_id} AND through_seq < ${first.seq}`,
  );
  // The thread of a rerun may begin with a copied summary, which is no message.
  if (first.seq === 1 && !summary) return undefined;
  const place = { thread_id, message_seq: first.seq - 1 };
  const found = await loadNewest(db, place, summary?.through_seq ?? 0, COPY_BOUNDS);
  return {
    messages: found.map((message, at) => ({ ...message, seq: at + 1 })),
    summary: summary?.content ?? null,
    // Later runs may have brought it, which is not told apart.
    external: first.external,
  };
}

const FirstMessage = Type.Object({ seq: Type.Integer(), external: Type.Boolean() });

interface LoadBounds {
  messagesMax: number;
  charactersMax: number;
}

async function loadNewest(
  db: Db,
  { thread_id, message_seq }: Pick<RunRow, "thread_id" | "message_seq">,
  after_seq: number,
  { messagesMax, charactersMax }: LoadBounds = {
    messagesMax: MESSAGES_MAX,
    charactersMax: CHARACTERS_MAX,
  },
): Promise<MessageRow[]> {
  const newest: MessageRow[] = [];
  let characters = 0;
  while (newest.length < messagesMax && characters < charactersMax) {
    const rows = await db.all(
      MessageRow,
      sql`SELECT * FROM messages WHERE thread_id = ${thread_id} AND seq > ${after_seq}
            AND seq < ${newest.at(-1)?.seq ?? message_seq + 1}
          ORDER BY seq DESC LIMIT ${MESSAGES_AT_ONCE}`,
    );
    for (const row of rows) {
      if (characters >= charactersMax || newest.length >= messagesMax) break;
      characters += countCharacters(row);
      newest.push(row);
    }
    if (rows.length < MESSAGES_AT_ONCE) break;
  }
  return newest.reverse();
}

function countCharacters({ content, tool_calls }: MessageRow): number {
  const calls = tool_calls ?? [];
  return calls.reduce((sum, { arguments: text }) => sum + text.length, content?.length ?? 0);
}
