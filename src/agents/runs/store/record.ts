// Records of an executing run: steps, messages and progress, written in one transaction.
import { type Static, Type } from "@sinclair/typebox";
import { ModelStatesRow } from "../../../access/index.ts";
import { selectModelStates } from "../../../access/store.ts";
import {
  cleanText,
  createInsertion,
  createInsertionFrom,
  type Sql,
  sql,
  type Tx,
} from "../../../database/index.ts";
import { writeRow } from "../../../platform/schema.ts";
import { measureRow } from "../../../storage/store.ts";
import { applyNoteEffect, type NoteEffect } from "../../notes/store.ts";
import { markThread } from "../../threads/store.ts";
import { MessageRow, type NewMessage } from "../../threads/thread.ts";
import type { RunRow } from "../run.ts";
import { type NewStep, StepRow } from "../step.ts";
import {
  addBytes,
  countRunBytes,
  type RunBytes,
  SETTLED_AT_BYTES,
  settleStored,
} from "./stored-bytes.ts";

/** Columns that only the executing process writes. */
export type Progress = Pick<
  RunRow,
  "usage" | "priced" | "worked_ms" | "output" | "external_content"
> & { cost: Pick<RunRow["cost"], "model" | "tools" | "total"> };

/** A step with its data as text, which crosses to the writer as one value. */
export type EncodedStep = Pick<NewStep, "id" | "round" | "kind" | "execution"> & { data: string };

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
  /** Changes by built-in tools; `external`: the run had read content from outside. */
  effects: readonly { effect: NoteEffect; external: boolean }[];
  /** Replaces the thread's messages up to `through_seq` in later prompts. */
  summary: { through_seq: number; content: string } | null;
  /** An earlier write of this record failed, and may have been committed all the same. */
  isRetry?: boolean;
}

/** The place of the run, and what its next round would otherwise read of models. */
const Recorded = Type.Object({
  ...ModelStatesRow.properties,
  last_seq: Type.Integer(),
  message_seq: Type.Integer(),
  cancel_requested: Type.Boolean(),
});
export type Recorded = Static<typeof Recorded>;

const MODEL_STATES = selectModelStates(sql`runs.account_id`);

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
type RecordPlace = Pick<RunRow, "account_id" | "agent_id" | "thread_id">;

const StepPlace = Type.Object({ seq: Type.Integer() });

/**
 * Part of a transaction: finds where the run stood behind a record that is written already. Only
 * the executing process adds messages, while people's decisions may have added steps since.
 */
export async function findRecorded(tx: Tx, record: RunRecord): Promise<Recorded | undefined> {
  const last = record.steps.at(-1);
  if (!record.isRetry || !last) return undefined;
  const { run_id, epoch } = record;
  const step = await tx.one(
    StepPlace,
    sql`SELECT seq FROM steps WHERE run_id = ${run_id} AND id = ${last.id}`,
  );
  const recorded = await tx.one(
    Recorded,
    sql`SELECT last_seq, message_seq, cancel_requested, ${MODEL_STATES} FROM runs
        WHERE id = ${run_id} AND epoch = ${epoch} AND status = 'running'`,
  );
  return step && recorded && { ...recorded, last_seq: step.seq };
}

/** Largest record that leaves the account's counter alone, so that it is one round trip. */
const UNSETTLED_BYTES_MAX = 16_384;

/**
 * Part of a transaction: writes a record of a running run; null: this process has lost it.
 * `isLast`: nothing else is written behind it.
 */
export async function writeRecord(
  tx: Tx,
  record: RunRecord,
  isLast: boolean,
): Promise<Recorded | null> {
  const { run_id, epoch, steps, messages } = record;
  const bytes = measureRecord(record);
  const finding = tx.one(
    Place,
    sql`UPDATE runs SET ${setProgress(record.progress)}, last_seq = last_seq + ${steps.length},
          message_seq = message_seq + ${messages.length},
          crashes = crashes * ${isProgress(steps) ? 0 : 1}, ${addBytes(bytes)}
        WHERE id = ${run_id} AND epoch = ${epoch} AND status = 'running'
        RETURNING account_id, agent_id, thread_id, last_seq, message_seq, cancel_requested,
          unsettled_bytes, ${MODEL_STATES}`,
  );
  // Sent at once: they insert nothing where the update has found no row.
  const running = "running" as const;
  const inserting = insertRecord(tx, record, { epoch, status: running, before: running });
  const isSmall = bytes.own + bytes.thread <= UNSETTLED_BYTES_MAX;
  const isWhole = isLast && isSmall && !hasMore(record);
  tx.tell("run", run_id);
  if (isWhole) tx.commitEarly();
  const [place] = await Promise.all([finding, inserting]);
  if (!place) return null;
  if (isWhole) return place;
  await insertExtras(tx, record, place);
  if (place.unsettled_bytes >= SETTLED_AT_BYTES) await settleStored(tx, run_id);
  return place;
}

/** A step about the run itself, such as a repeated model call, may precede every crash. */
function isProgress(steps: RunRecord["steps"]): boolean {
  return steps.some(({ kind }) => kind !== "system");
}

/** Rows of a record are added only where the run is in this state. */
interface RunPlace {
  epoch: number;
  status: RunRow["status"];
  /** Status of the steps, which a final step ends. */
  before: RunRow["status"];
}

/**
 * Part of a transaction: inserts steps and messages of a record. The run's row counts them already,
 * and the caller has counted their bytes.
 */
export async function insertRecord(
  tx: Tx,
  { run_id, at, steps, messages }: Pick<RunRecord, "run_id" | "at" | "steps" | "messages">,
  { epoch, status, before }: RunPlace,
): Promise<void> {
  const own = [run_id, epoch, status];
  const insertions = [
    ...steps.map((step, i) => {
      const place = { seq: steps.length - 1 - i, at, status: before };
      return insertOwnStep([...writeStep(run_id, step, place), ...own]);
    }),
    ...messages.map(({ content, ...message }, i) => {
      const row = writeRow(RunMessage, {
        ...message,
        // Models and tools may write any character; the steps keep the original as JSON.
        content: content === null ? null : cleanText(content),
        parts: null,
        run_id,
        seq: messages.length - 1 - i,
        created_at: at,
      });
      return insertOwnMessage([...row, ...own]);
    }),
  ];
  await Promise.all(insertions.map((insertion) => tx.run(insertion)));
}

const OWN = [" FROM runs WHERE id = ", " AND epoch = ", " AND status = ", ""];
const RunMessage = Type.Omit(MessageRow, ["thread_id"]);
const insertOwnMessage = createInsertionFrom(RunMessage, "INSERT INTO messages", {
  ...{ seq: "message_seq", also: ["thread_id"], from: OWN },
});

type RecordExtras = Pick<
  RunRecord,
  "run_id" | "at" | "messages" | "outputs" | "effects" | "summary"
>;

/** More than one statement each, or one that reads what the others have written. */
export function hasMore({ messages, outputs, effects, summary }: Omit<RecordExtras, "run_id">) {
  return isExternal(messages) || outputs.length > 0 || effects.length > 0 || summary !== null;
}

/** Part of a transaction: inserts what a record holds beside steps and messages. */
export async function insertExtras(
  tx: Tx,
  record: RecordExtras,
  place: RecordPlace,
): Promise<void> {
  const { run_id, at, messages, outputs, effects, summary } = record;
  await Promise.all([
    // The thread is tainted by the transaction that stores what taints it.
    isExternal(messages) && markThread(tx, place.thread_id),
    ...outputs.map(({ tool_call_id, content }) =>
      tx.run(
        sql`INSERT INTO tool_outputs (run_id, tool_call_id, content)
            VALUES (${run_id}, ${tool_call_id}, ${cleanText(content)}) ON CONFLICT DO NOTHING`,
      ),
    ),
  ]);
  for (const { effect, external } of effects)
    await applyNoteEffect(tx, place, effect, external, at);
  if (summary) {
    await tx.run(
      sql`INSERT INTO thread_summaries (thread_id, through_seq, content)
          VALUES (${place.thread_id}, ${summary.through_seq}, ${cleanText(summary.content)})
          ON CONFLICT (thread_id) DO UPDATE SET through_seq = excluded.through_seq,
            content = excluded.content`,
    );
  }
}

function isExternal(messages: RunRecord["messages"]): boolean {
  return messages.some(({ external }) => external);
}

const StepText = Type.Object({ ...StepRow.properties, data: Type.String() });
const insertStepRows = createInsertion(StepText, "INSERT INTO steps", "");
const insertOwnStep = createInsertionFrom(StepText, "INSERT INTO steps", {
  ...{ seq: "last_seq", also: [], from: OWN },
});

interface StepsPlace {
  last_seq: number;
  at: number;
  status: RunRow["status"];
}

export async function addSteps(
  tx: Tx,
  run_id: string,
  steps: RunRecord["steps"],
  place: StepsPlace,
): Promise<void> {
  await insertSteps(tx, run_id, steps, place);
  await countRunBytes(tx, run_id, { own: measureSteps(steps), thread: 0 });
}

async function insertSteps(
  tx: Tx,
  run_id: string,
  steps: RunRecord["steps"],
  { last_seq, at, status }: StepsPlace,
): Promise<void> {
  if (steps.length === 0) return;
  const first = last_seq - steps.length + 1;
  const rows = steps.map((step, i) => writeStep(run_id, step, { seq: first + i, at, status }));
  await tx.run(insertStepRows(rows));
}

function writeStep(
  run_id: string,
  { data, ...step }: RunRecord["steps"][number],
  { seq, at, status }: Omit<StepsPlace, "last_seq"> & { seq: number },
) {
  return writeRow(StepText, {
    ...step,
    run_id,
    seq,
    created_at: at,
    status,
    data: encodeData(data),
    execution: step.execution ?? null,
  });
}

export function measureRecord({
  steps,
  messages,
  outputs,
}: Pick<RunRecord, "steps" | "messages" | "outputs">): RunBytes {
  const outputBytes = outputs.reduce((sum, { content }) => sum + measureRow(content), 0);
  const thread = messages.reduce((sum, { content, tool_calls }) => {
    return sum + measureRow(content, tool_calls === null ? null : JSON.stringify(tool_calls));
  }, 0);
  return { own: measureSteps(steps) + outputBytes, thread };
}

function measureSteps(steps: RunRecord["steps"]): number {
  return steps.reduce((sum, { data }) => sum + measureRow(encodeData(data)), 0);
}

function encodeData(data: RunRecord["steps"][number]["data"]): string {
  return typeof data === "string" ? data : JSON.stringify(data);
}
