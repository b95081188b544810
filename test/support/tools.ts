// Numbers revisions of tools in tests: making a thousand of them proves no more than having one.
import { sql, store } from "../../src/database/index.ts";

export const toolWrites = store(
  "tool-writes",
  {},
  {
    /** The only revision of a tool is the one of this number, with none before it. */
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
