// Registered tools as the operator finds and switches them, of whichever account.
import type { Bound, Database } from "../../platform/database/index.ts";
import { describeHttpRevision, isToolName, type ToolRevisionRow } from "./http/revision.ts";
import { toolStore } from "./http/store.ts";
import type { ToolRevision } from "./tool.ts";

/** Read at once; of longer catalogues more follow. */
const TOOLS_AT_ONCE = 100;

export function createToolBook(database: Database) {
  const store: Bound<typeof toolStore> = database.bind(toolStore);
  const describe = (row: ToolRevisionRow | undefined) => row && describeHttpRevision(row);
  /** undefined: the account has no tool of that name. */
  const of =
    (work: (account_id: string, name: string) => Promise<ToolRevisionRow | undefined>) =>
    async (account_id: string, name: string): Promise<ToolRevision | undefined> =>
      isToolName(name) ? describe(await work(account_id, name)) : undefined;
  return {
    /** The latest revisions of an account's tools, by their names. */
    async list(account_id: string): Promise<ToolRevision[]> {
      const found: ToolRevision[] = [];
      for (let after: string | null = null; ; ) {
        const rows: ToolRevisionRow[] = await store.list(account_id, after, TOOLS_AT_ONCE);
        found.push(...rows.map(describeHttpRevision));
        if (rows.length < TOOLS_AT_ONCE) return found;
        after = rows.at(-1)!.name;
      }
    },
    find: of(store.find),
    disable: of(store.disable),
    /** Throws a refusal where so many are enabled already. */
    enable: (account_id: string, name: string, tools_max: number) =>
      of((id, one) => store.enable(id, one, tools_max))(account_id, name),
  };
}
export type ToolBook = ReturnType<typeof createToolBook>;
