// Bytes that a run stores, counted in its row and added to its account's counter now and then.
import { type Sql, sql, type Tx } from "../../../database/index.ts";
import { measureRow, measureWhole, ROW_BYTES } from "../../../storage/store.ts";
import { MessageRow } from "../../threads/thread.ts";
import { listAsks, type RunRow } from "../run.ts";

/** Bytes that a run counts alone before it updates its account's counter, which others lock too. */
export const SETTLED_AT_BYTES = 1_048_576;

export interface RunBytes {
  own: number;
  thread: number;
}

export function addBytes({ own, thread }: RunBytes): Sql {
  return sql`stored_bytes = stored_bytes + ${own},
    unsettled_bytes = unsettled_bytes + ${own + thread}`;
}

export async function countRunBytes(tx: Tx, run_id: string, bytes: RunBytes): Promise<void> {
  await tx.run(sql`UPDATE runs SET ${addBytes(bytes)} WHERE id = ${run_id}`);
}

/** Part of a transaction: adds the unsettled bytes of a run to its account's counter. */
export async function settleStored(tx: Tx, run_id: string): Promise<void> {
  await settleLast(tx, run_id);
  await tx.run(sql`UPDATE runs SET unsettled_bytes = 0 WHERE id = ${run_id}`);
}

/** Part of a transaction: the same for a run that has ended, whose own counter is not read. */
export async function settleLast(tx: Tx, run_id: string): Promise<void> {
  await tx.run(
    sql`INSERT INTO stored_bytes (account_id, part, bytes)
        SELECT account_id, 'runs', unsettled_bytes FROM runs WHERE id = ${run_id}
        ON CONFLICT (account_id, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes`,
  );
}

interface StoredStart {
  thread_id: string | null;
  /** Begin of the new thread, copied from another one. */
  history: { messages: readonly MessageRow[]; summary: string | null } | null;
  images?: readonly { url: string }[];
}

export function measureStart(
  { input, metadata, cost }: Pick<RunRow, "input" | "metadata" | "cost">,
  { thread_id, history, images = [] }: StoredStart,
): RunBytes {
  const asks = listAsks(input).map(({ content, parts }) =>
    measureRow(content, parts && JSON.stringify(parts)),
  );
  const copied = history?.messages.map((message) => measureWhole(MessageRow, message)) ?? [];
  const thread = (thread_id === null ? ROW_BYTES : 0) + Buffer.byteLength(history?.summary ?? "");
  const imageBytes = images.reduce((sum, { url }) => sum + measureRow(url), 0);
  const texts = [input, metadata, cost.prices].map((value) => JSON.stringify(value));
  // Rows of runs have more fields and indexes than others.
  const own = 4 * ROW_BYTES + measureRow(...texts) + imageBytes;
  return { own, thread: [...asks, ...copied].reduce((sum, bytes) => sum + bytes, thread) };
}
