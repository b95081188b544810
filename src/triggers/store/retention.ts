// What of fires is deleted: those that are old.
import { sql, type Tx } from "../../database/index.ts";

/** Up to `limit` that ended before `until`, the oldest first, also of triggers that are gone. */
export function sweepFires(tx: Tx, until: number, limit: number): Promise<number> {
  return tx.run(
    sql`DELETE FROM fires WHERE id IN
          (SELECT id FROM fires WHERE ended_at < ${until} ORDER BY ended_at LIMIT ${limit})`,
  );
}
