// What is written before calls leave that change something outside.
import { Type } from "@sinclair/typebox";
import { sql, type Tx } from "../../../database/index.ts";
import { isDisabled } from "../../tools/http/store.ts";
import { findRecorded, type Recorded, type RunRecord, record } from "./record.ts";

/** `disabled` and `cancelled`: nothing was written, and nothing may be sent. */
export type Intent =
  | { came: "written"; recorded: Recorded }
  | { came: "disabled"; tools: string[] }
  | { came: "cancelled" | "lost" };

const Asked = Type.Object({ cancel_requested: Type.Boolean() });

/**
 * A part: that calls will be sent now. From its commit on a tool that is switched off sends nothing
 * more, nor does a run that was asked to stop.
 */
export async function intend(
  tx: Tx,
  given: RunRecord,
  account_id: string,
  tools: readonly string[],
): Promise<Intent> {
  const earlier = await findRecorded(tx, given);
  if (earlier) return { came: "written", recorded: earlier };
  const disabled: string[] = [];
  for (const name of tools) if (await isDisabled(tx, account_id, name)) disabled.push(name);
  if (disabled.length > 0) return { came: "disabled", tools: disabled };
  const { run_id, epoch } = given;
  const asked = await tx.one(
    Asked,
    sql`SELECT cancel_requested FROM runs
        WHERE id = ${run_id} AND epoch = ${epoch} AND status = 'running'`,
  );
  if (asked?.cancel_requested) return { came: "cancelled" };
  const recorded = await record(tx, given);
  return recorded ? { came: "written", recorded } : { came: "lost" };
}
