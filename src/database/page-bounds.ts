// Rows in pieces of bounded size: so lists are read whose texts may be long and whose readers slow.
import { type Sql, sql } from "./sql.ts";

/** So much is read at once, and a row more: rows of a megabyte come one by one. */
const BYTES_AT_ONCE = 256 * 1024;

/**
 * The `seq` of a piece's last row. `rows` is `FROM … WHERE …`, of which so many are looked at, and
 * `bytes` how long one is: with OCTET_LENGTH, which reads no text.
 */
export function findPageEnd(rows: Sql, bytes: Sql, limit: number): Sql {
  return sql`SELECT MAX(seq) FROM (
      SELECT seq, SUM(bytes) OVER (ORDER BY seq) - bytes AS bytes_before FROM (
        SELECT seq, ${bytes} AS bytes ${rows} ORDER BY seq LIMIT ${limit}
      ) AS rows_ahead
    ) AS sums WHERE bytes_before < ${BYTES_AT_ONCE}`;
}
