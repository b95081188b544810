// Reads rounds of runs as their model saw them, on a database that another process may be using.
import type { Database } from "../../database/index.ts";
import type { ModelCheck } from "../../gateway/index.ts";
import { agentStore } from "../definitions/store.ts";
import type { VersionRow } from "../definitions/version.ts";
import { createShownCatalog } from "../tools/catalog.ts";
import { toolStore } from "../tools/http/store/index.ts";
import type { PromptTool } from "./prompt.ts";
import { rebuildRound } from "./round-messages.ts";
import type { RunRow } from "./run.ts";
import { runStore } from "./store/index.ts";

export function createRoundReader(database: Database, findModel: ModelCheck["find"]) {
  const { findVersion } = database.bind(agentStore);
  const { listPinned } = database.bind(toolStore);
  const store = database.bind(runStore);
  const catalog = createShownCatalog();
  const openTools = async (account_id: string, { tool_revisions }: VersionRow) => {
    const pins = tool_revisions.filter(({ kind }) => kind !== "builtin");
    const rows = pins.length === 0 ? [] : await listPinned(account_id, pins);
    const pinned = new Map<string, PromptTool>(rows.map((row) => [row.name, row]));
    return (name: string): PromptTool | undefined => pinned.get(name) ?? catalog.find(name);
  };
  /** Returns undefined for a round without a reply. */
  return (run: RunRow, round: number) =>
    rebuildRound({ store, findVersion, openTools, findModel }, run, round);
}
