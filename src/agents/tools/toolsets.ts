// Opens the tools of a version for a run: those in memory, and the revisions that it has pinned.
import type { Bound } from "../../database/index.ts";
import type { ToolPin, VersionRow } from "../definitions/version.ts";
import type { AgentsDeps } from "../deps.ts";
import type { Catalog } from "./catalog.ts";
import type { Tool } from "./contract.ts";
import type { toolStore } from "./http/store.ts";
import type { ToolRevisionRow } from "./revision.ts";

export interface Toolset {
  /** undefined: there is no such tool, or it is switched off. */
  find(name: string): Tool | undefined;
  /** Looks again which of them are switched off; left out: none of them ever is. */
  refresh?(): Promise<void>;
}

/** The tools of a version in the revisions that it has pinned. */
export type OpenToolset = (account_id: string, version: VersionRow) => Promise<Toolset>;

/** As JSON, of all tools that are kept together; behind it the first one read is read again. */
const CHARACTERS_MAX = 2_000_000;

export interface ToolsetsOptions extends Pick<AgentsDeps, "settings"> {
  tools: Pick<Bound<typeof toolStore>, "listPinned" | "listStandings">;
  catalog: Pick<Catalog, "find">;
  createTool(revision: ToolRevisionRow): Tool;
}

export function createToolsets(options: ToolsetsOptions): OpenToolset {
  const { tools, catalog, settings } = options;
  const listTools = keepTools(options);
  // agents.does.tool: what only has built-in tools asks no database, and none of those is ever off.
  const builtins: Toolset = { find: catalog.find };

  return async (account_id, { tool_revisions }) => {
    const pins = tool_revisions.filter(({ kind }) => kind === "http");
    if (pins.length === 0) return builtins;
    const names = pins.map(({ name }) => name);
    const pinned = await listTools(account_id, pins);
    let off: ReadonlySet<string> = new Set();
    const refresh = async () => {
      const standings = await tools.listStandings(account_id, names);
      const disabled = standings.filter(({ status }) => status === "disabled");
      off = new Set(disabled.map(({ name }) => name));
    };
    await refresh();
    return {
      find(name) {
        if (!pinned.has(name)) return catalog.find(name);
        const isOff = off.has(name) || !settings().agents.http_tools;
        return isOff ? undefined : pinned.get(name);
      },
      refresh,
    };
  };
}

/** What is pinned never changes, so that it is read once. */
function keepTools({ tools, createTool }: ToolsetsOptions) {
  const kept = new Map<string, { tool: Tool; characters: number }>();
  let characters = 0;
  const nameOf = (account_id: string, { name, revision }: Pick<ToolPin, "name" | "revision">) =>
    `${account_id} ${name} ${revision}`;
  const drop = (name: string) => {
    characters -= kept.get(name)?.characters ?? 0;
    kept.delete(name);
  };
  const keep = (row: ToolRevisionRow) => {
    const tool = createTool(row);
    const name = nameOf(row.account_id, row);
    // Another run may have read it at the same time.
    drop(name);
    const one = { tool, characters: JSON.stringify(row).length };
    kept.set(name, one);
    characters += one.characters;
    for (const oldest of kept.keys()) {
      if (characters <= CHARACTERS_MAX) break;
      drop(oldest);
    }
    return tool;
  };
  /** By their names; undefined: the revision is not there. */
  return async (
    account_id: string,
    pins: readonly ToolPin[],
  ): Promise<Map<string, Tool | undefined>> => {
    const known = pins.map((pin) => [pin.name, kept.get(nameOf(account_id, pin))?.tool] as const);
    const found = new Map(known);
    const missing = pins.filter(({ name }) => !found.get(name));
    if (missing.length === 0) return found;
    for (const row of await tools.listPinned(account_id, missing)) {
      found.set(row.name, keep(row));
    }
    return found;
  };
}
