// Opens the tools of a version for a run: built-in ones, and the revisions that it has pinned.
import type { Bound } from "../../database/index.ts";
import { SizeCache } from "../../platform/size-cache.ts";
import type { ToolPin, VersionRow } from "../definitions/version.ts";
import type { AgentsDeps } from "../deps.ts";
import { CHANGED, explainOff } from "./availability.ts";
import type { Catalog } from "./catalog.ts";
import type { Tool } from "./contract.ts";
import type { OwnToolState, toolStore } from "./http/store/index.ts";
import type { ToolRevisionRow } from "./revision.ts";

export interface Toolset {
  find(name: string): Tool | undefined;
  /** Why a tool that the version has is not found now, where that is not its switch. */
  explainOff?(name: string): string | null;
  refresh?(): Promise<void>;
}

export type OpenToolset = (account_id: string, version: VersionRow) => Promise<Toolset>;

const CACHED_CHARACTERS_MAX = 2_000_000;

export interface ToolsetsOptions extends Pick<AgentsDeps, "settings"> {
  tools: Pick<Bound<typeof toolStore>, "listPinned" | "listStandings">;
  catalog: Pick<Catalog, "find">;
  createTool(revision: ToolRevisionRow): Tool;
}

export function createToolsets(options: ToolsetsOptions): OpenToolset {
  const { tools, catalog, settings, createTool } = options;
  /** Revisions never change, so each is read once. */
  const cache = new SizeCache<Tool>(CACHED_CHARACTERS_MAX);
  // agents.does.tool: versions with built-in tools only need no database.
  const builtins: Toolset = { find: catalog.find };

  const openPinned = async (account_id: string, pins: readonly ToolPin[]) => {
    const keyOf = ({ name, revision }: Pick<ToolPin, "name" | "revision">) =>
      `${account_id} ${name} ${revision}`;
    const found = new Map(pins.map((pin) => [pin.name, cache.get(keyOf(pin))]));
    const missing = pins.filter(({ name }) => !found.get(name));
    if (missing.length === 0) return found;
    for (const row of await tools.listPinned(account_id, missing)) {
      const tool = createTool(row);
      cache.set(keyOf(row), tool, JSON.stringify(row).length);
      found.set(row.name, tool);
    }
    return found;
  };
  return async (account_id, { tool_revisions }) => {
    const pins = tool_revisions.filter(({ kind }) => kind !== "builtin");
    if (pins.length === 0) return builtins;
    const names = pins.map(({ name }) => name);
    const pinned = await openPinned(account_id, pins);
    let standings: ReadonlyMap<string, OwnToolState> = new Map();
    const refresh = async () => {
      const found = await tools.listStandings(account_id, names);
      standings = new Map(found.map((one) => [one.name, one]));
    };
    await refresh();
    const explain = (name: string) =>
      explainOff(standings.get(name), settings(), pinned.get(name)?.server_id ?? null);
    return {
      find(name) {
        if (!pinned.has(name)) return catalog.find(name);
        return explain(name) === null ? pinned.get(name) : undefined;
      },
      explainOff: (name) => (pinned.has(name) && explain(name) === CHANGED ? CHANGED : null),
      refresh,
    };
  };
}
