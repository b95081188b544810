// Tools that callers registered, in the database.
import { Type } from "@sinclair/typebox";
import { type Db, sql } from "../../../platform/database/index.ts";

const Name = Type.Object({ name: Type.String() });

/** A part: whether a tool of the account is switched off. */
export async function isDisabled(db: Db, account_id: string, name: string): Promise<boolean> {
  const found = await db.one(
    Name,
    sql`SELECT name FROM tools
        WHERE account_id = ${account_id} AND name = ${name} AND status = 'disabled'`,
  );
  return found !== undefined;
}
