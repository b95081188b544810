// What an executing run writes: steps, messages and where the run stands, in one transaction.
import { type Static, Type } from "@sinclair/typebox";
import { cleanText, createInsertion, type Sql, sql, type Tx } from "../../../database/index.ts";
import { writeRow } from "../../../platform/schema.ts";
import { applyNoteEffect, type NoteEffect } from "../../notes/store.ts";
import { markThread } from "../../threads/store.ts";
import { MessageRow, type NewMessage } from "../../threads/thread.ts";
import type { RunRow } from "../run.ts";
import { type NewStep, StepRow } from "../step.ts";
import {
  addBytes,
  countRunBytes,
  measureRecord,
  measureSteps,
  SETTLED_AT_BYTES,
  settleStored,
  writeData,
} from "./stored-bytes.ts";

/** What the process that executes a run knows of it, and alone may write. */
export type Progress = Pick<
  RunRow,
  "usage" | "priced" | "worked_ms" | "output" | "external_content"
> & { cost: Pick<RunRow["cost"], "model" | "tools" | "total"> };

/** A step whose data is a text already: so it crosses to the writer as one value. */
export type EncodedStep = Pick<NewStep, "id" | "round" | "kind"> & { data: string };

/** One transaction of a run that is executed by the process `epoch`. */
export interface RunRecord {
  run_id: string;
  epoch: number;
  at: number;
  progress: Progress;
  steps: readonly (NewStep | EncodedStep)[];
  messages: readonly NewMessage[];
  /** Whole results of which the steps hold head and tail. */
  outputs: readonly { tool_call_id: string; content: string }[];
  /** What built-in tools change here; `external`: the run had read content from outside. */
  effects: readonly { effect: NoteEffect; external: boolean }[];
  /** What stands for the thread's messages up to a place, from now on; null: as before. */
  summary: { through_seq: number; content: string } | null;
  /** A write of this record has failed, and may have been committed all the same. */
  is_again?: boolean;
}

/** What a run is now; null: the process has lost it, and must do nothing more for it. */
export const Recorded = Type.Object({
  last_seq: Type.Integer(),
  message_seq: Type.Integer(),
  cancel_requested: Type.Boolean(),
});
export type Recorded = Static<typeof Recorded>;

/** The columns that come with every record. */
export function setProgress({ cost, usage, ...progress }: Progress): Sql {
  return sql`cost_model = ${cost.model}, cost_tools = ${cost.tools}, cost_total = ${cost.total},
    usage_prompt_tokens = ${usage.prompt_tokens},
    usage_completion_tokens = ${usage.completion_tokens},
    usage_total_tokens = ${usage.total_tokens}, usage_rounds = ${usage.rounds},
    usage_tool_calls = ${usage.tool_calls}, priced = ${progress.priced},
    worked_ms = ${progress.worked_ms},
    output = ${progress.output === null ? null : JSON.stringify(progress.output)},
    external_content = ${progress.external_content}`;
}

const Place = Type.Object({
  account_id: Type.String(),
  agent_id: Type.String(),
  thread_id: Type.String(),
  ...Recorded.properties,
  unsettled_bytes: Type.Integer(),
});

const StepPlace = Type.Object({ seq: Type.Integer() });

/**
 * A part: of a record that is there already, where the run stood behind it; undefined: it is not.
 * Only its own process adds messages, while people's decisions may have added steps since.
 */
export async function findRecorded(tx: Tx, given: RunRecord): Promise<Recorded | undefined> {
  const last = given.steps.at(-1);
  if (!given.is_again || !last) return undefined;
  const { run_id, epoch } = given;
  const step = await tx.one(
    StepPlace,
    sql`SELECT seq FROM steps WHERE run_id = ${run_id} AND id = ${last.id}`,
  );
  const recorded = await tx.one(
    Recorded,
    sql`SELECT last_seq, message_seq, cancel_requested FROM runs
        WHERE id = ${run_id} AND epoch = ${epoch} AND status = 'running'`,
  );
  return step && recorded && { ...recorded, last_seq: step.seq };
}

/** A part: writes a record of a run that goes on running; null: the process has lost the run. */
export async function record(tx: Tx, given: RunRecord): Promise<Recorded | null> {
  const { run_id, epoch, steps, messages } = given;
  const place = await tx.one(
    Place,
    sql`UPDATE runs SET ${setProgress(given.progress)}, last_seq = last_seq + ${steps.length},
          message_seq = message_seq + ${messages.length},
          crashes = crashes * ${isProgress(steps) ? 0 : 1}, ${addBytes(measureRecord(given))}
        WHERE id = ${run_id} AND epoch = ${epoch} AND status = 'running'
        RETURNING account_id, agent_id, thread_id, last_seq, message_seq, cancel_requested,
          unsettled_bytes`,
  );
  if (!place) return null;
  await writeRecord(tx, given, place, "running");
  if (place.unsettled_bytes >= SETTLED_AT_BYTES) await settleStored(tx, run_id);
  return place;
}

/** A step about the run itself, such as a repeated question, may precede every crash. */
function isProgress(steps: RunRecord["steps"]): boolean {
  return steps.some(({ kind }) => kind !== "system");
}

/** The rows of a record, once it is known where they go; what they take is counted by then. */
export async function writeRecord(
  tx: Tx,
  { run_id, at, steps, messages, outputs, effects, summary, progress }: Omit<RunRecord, "epoch">,
  {
    account_id,
    agent_id,
    thread_id,
    last_seq,
    message_seq,
  }: Pick<RunRow, "account_id" | "agent_id" | "thread_id" | "last_seq" | "message_seq">,
  status: RunRow["status"],
): Promise<void> {
  await insertSteps(tx, run_id, steps, { last_seq, at, status });
  if (messages.length > 0) {
    const first = message_seq - messages.length + 1;
    const rows = messages.map(({ content, ...message }, i) =>
      writeRow(MessageRow, {
        ...message,
        // A model and a tool may say anything; the steps keep it as JSON, where all has a place.
        content: content === null ? null : cleanText(content),
        ...{ thread_id, run_id, seq: first + i, created_at: at },
      }),
    );
    await tx.run(insertMessages(rows));
    // The mark of the run becomes the thread's, in the transaction that stores what it is for.
    if (progress.external_content && messages.some(({ external }) => external)) {
      await markThread(tx, thread_id);
    }
  }
  for (const { tool_call_id, content } of outputs) {
    await tx.run(
      sql`INSERT INTO tool_outputs (run_id, tool_call_id, content)
          VALUES (${run_id}, ${tool_call_id}, ${cleanText(content)}) ON CONFLICT DO NOTHING`,
    );
  }
  for (const { effect, external } of effects) {
    await applyNoteEffect(tx, { account_id, agent_id }, effect, external, at);
  }
  if (summary) {
    await tx.run(
      sql`INSERT INTO thread_summaries (thread_id, through_seq, content)
          VALUES (${thread_id}, ${summary.through_seq}, ${cleanText(summary.content)})
          ON CONFLICT (thread_id) DO UPDATE SET through_seq = excluded.through_seq,
            content = excluded.content`,
    );
  }
  tx.tell("run", run_id);
}

/** Its data is the text that is stored. */
const StepText = Type.Object({ ...StepRow.properties, data: Type.String() });
const insertStepRows = createInsertion(StepText, "INSERT INTO steps", "");
const insertMessages = createInsertion(MessageRow, "INSERT INTO messages", "");

interface StepsAt {
  last_seq: number;
  at: number;
  status: RunRow["status"];
}

/** A part: the newest steps of a run, whose last has the number `last_seq`. */
export async function addSteps(
  tx: Tx,
  run_id: string,
  steps: readonly (NewStep | EncodedStep)[],
  place: StepsAt,
): Promise<void> {
  await insertSteps(tx, run_id, steps, place);
  await countRunBytes(tx, run_id, { own: measureSteps(steps), thread: 0 });
}

async function insertSteps(
  tx: Tx,
  run_id: string,
  steps: readonly (NewStep | EncodedStep)[],
  { last_seq, at, status }: StepsAt,
): Promise<void> {
  if (steps.length === 0) return;
  const first = last_seq - steps.length + 1;
  const rows = steps.map(({ id, kind, round, data }, i) =>
    writeRow(StepText, {
      ...{ id, run_id, seq: first + i, kind, round, created_at: at, status },
      data: writeData(data),
    }),
  );
  await tx.run(insertStepRows(rows));
}
