// Sets revision numbers of tools in tests, which avoids creating a thousand revisions.
import { sql, store } from "../../src/database/index.ts";

export const toolWrites = store(
  "tool-writes",
  {},
  {
    /** Gives a tool's only revision this number. */
    number: async (tx, account_id: string, name: string, revision: number) => {
      for (const table of [sql`tool_revisions`, sql`tools`]) {
        await tx.run(
          sql`UPDATE ${table} SET revision = ${revision}
              WHERE account_id = ${account_id} AND name = ${name}`,
        );
      }
    },
  },
);
