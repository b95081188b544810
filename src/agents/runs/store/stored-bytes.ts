// What a run stores, counted in its own row and added to its account's counter now and then.
import { type Sql, sql, type Tx } from "../../../database/index.ts";
import { measureRow, ROW_BYTES } from "../../../storage/store.ts";
import type { MessageRow } from "../../threads/thread.ts";
import { listAsks, type RunRow } from "../run.ts";
import type { EncodedStep, RunRecord } from "./record.ts";

/** A run adds this much to its account's counter at once: its writes seldom wait for another's. */
export const SETTLED_AT_BYTES = 1_048_576;

/** Bytes that go away with the run, and bytes that stay in its thread. */
export interface RunBytes {
  own: number;
  thread: number;
}

export function measureSteps(steps: readonly { data: EncodedStep["data"] | object }[]): number {
  return steps.reduce((sum, { data }) => sum + measureRow(writeData(data)), 0);
}

export function writeData(data: EncodedStep["data"] | object): string {
  return typeof data === "string" ? data : JSON.stringify(data);
}

function measureMessages(messages: readonly Pick<MessageRow, "content" | "tool_calls">[]): number {
  return messages.reduce((sum, { content, tool_calls }) => {
    return sum + measureRow(content, tool_calls === null ? null : JSON.stringify(tool_calls));
  }, 0);
}

export function measureRecord({
  steps,
  messages,
  outputs,
}: Pick<RunRecord, "steps" | "messages" | "outputs">): RunBytes {
  const whole = outputs.reduce((sum, { content }) => sum + measureRow(content), 0);
  return {
    own: measureSteps(steps) + whole,
    thread: measureMessages(messages),
  };
}

/** The columns of a run that has stored so much more. */
export function addBytes({ own, thread }: RunBytes): Sql {
  return sql`stored_bytes = stored_bytes + ${own},
    unsettled_bytes = unsettled_bytes + ${own + thread}`;
}

/** A part: notes what a run stores beside its records. */
export async function countRunBytes(tx: Tx, run_id: string, bytes: RunBytes): Promise<void> {
  await tx.run(sql`UPDATE runs SET ${addBytes(bytes)} WHERE id = ${run_id}`);
}

/** A part: adds what a run has stored since then to its account's counter. */
export async function settleStored(tx: Tx, run_id: string): Promise<void> {
  await settleLast(tx, run_id);
  await tx.run(sql`UPDATE runs SET unsettled_bytes = 0 WHERE id = ${run_id}`);
}

/** A part: the same for a run that has ended, and stores nothing more. */
export async function settleLast(tx: Tx, run_id: string): Promise<void> {
  await tx.run(
    sql`INSERT INTO stored_bytes (account_id, part, bytes)
        SELECT account_id, 'runs', unsettled_bytes FROM runs WHERE id = ${run_id}
        ON CONFLICT (account_id, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes`,
  );
}

/** Bytes of a run that begins, with its thread where that begins, too. */
export function measureStart(
  { input, metadata, cost }: Pick<RunRow, "input" | "metadata" | "cost">,
  isNewThread: boolean,
): RunBytes {
  const messages = listAsks(input).reduce((sum, { content }) => sum + measureRow(content), 0);
  const texts = [input, metadata, cost.prices].map((value) => JSON.stringify(value));
  // A row of a run holds more fields, and stands in more indexes, than others.
  const own = 4 * ROW_BYTES + measureRow(...texts);
  return { own, thread: messages + (isNewThread ? ROW_BYTES : 0) };
}
