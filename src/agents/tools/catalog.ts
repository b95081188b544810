// The catalogue of tools: built-in ones, and what a version of an account may name.
import type { Scope } from "../../access/index.ts";
import type { Bound } from "../../database/index.ts";
import type { ModelTool } from "../../models/index.ts";
import type { ToolPin } from "../definitions/version.ts";
import type { AgentsDeps } from "../deps.ts";
import { explainOff } from "./availability.ts";
import { createCalculator } from "./builtin/calculator.ts";
import { currentTime } from "./builtin/current-time.ts";
import { createMemory, type Notes } from "./builtin/memory.ts";
import { readOutput } from "./builtin/read-output.ts";
import { createReadPage, type PageDeps } from "./builtin/read-page.ts";
import { createWebSearch, type SearchClient } from "./builtin/web-search.ts";
import type { BuiltinTool, Tool } from "./contract.ts";
import type { toolStore } from "./http/store/index.ts";
import { isToolName, type ToolRevision } from "./revision.ts";
import { findBuiltinTitle } from "./titles.ts";

/** Date of the first built-in tools; their revisions are part of the program. */
const MADE_AT = Date.UTC(2026, 0, 1);

export type ToolPrices = ReadonlyMap<string, number>;

export interface BuiltinsOptions extends PageDeps {
  search: SearchClient;
  notes: Notes;
}

export function createBuiltins(options: BuiltinsOptions): readonly BuiltinTool[] {
  const { search, notes, compute } = options;
  return [
    currentTime,
    createCalculator(compute),
    readOutput,
    createWebSearch(search),
    createReadPage(options),
    ...createMemory(notes),
  ];
}

export interface Catalog {
  find(name: string): BuiltinTool | undefined;
  /** Micro-SAR per call; null without a price. */
  priceOf(tool: BuiltinTool, prices: ToolPrices): number | null;
  list(prices: ToolPrices): ToolRevision[];
}

export function createCatalog(builtins: readonly BuiltinTool[]): Catalog {
  const byName = new Map(builtins.map((tool) => [tool.name, tool]));
  return {
    find: (name) => byName.get(name),
    priceOf,
    list: (prices) => builtins.map((tool) => describeRevision(tool, priceOf(tool, prices))),
  };
}

/** A catalogue for descriptions and prices: none of its tools is run, so that none is served. */
export const createShownCatalog = (): Catalog =>
  createCatalog(createBuiltins({} as BuiltinsOptions));

/** agents.does.cost.2: without a price the cost is unknown, unless the tool is free. */
function priceOf({ name, isFree }: BuiltinTool, prices: ToolPrices): number | null {
  return prices.get(name) ?? (isFree ? 0 : null);
}

/** agents.endpoints.tools.get_tools */
function describeRevision(tool: BuiltinTool, price_sar: number | null): ToolRevision {
  const { name, revision, risk, description, parameters } = tool;
  const { timeout_ms, external_content } = tool;
  return {
    name,
    kind: "builtin",
    revision,
    risk,
    title: findBuiltinTitle(name),
    description,
    parameters,
    endpoint: null,
    connection_id: null,
    timeout_ms,
    external_content,
    // Reads change nothing, and notes are written with the call's result.
    idempotent: true,
    price_sar,
    status: "enabled",
    latest: true,
    created_at: MADE_AT,
  };
}

type DescribedTool = Pick<Tool, "name" | "description" | "parameters">;

export function toModelTool(tool: DescribedTool): ModelTool {
  let shown = modelTools.get(tool);
  if (!shown) {
    const { name, description, parameters } = tool;
    shown = { type: "function", function: { name, description, parameters } };
    modelTools.set(tool, shown);
  }
  return shown;
}

const modelTools = new WeakMap<DescribedTool, ModelTool>();

export interface LookupCandidate {
  pin: ToolPin;
  /** The tool is switched off or has changed, or its kind is off: calls cannot be sent. */
  isOff: boolean;
  isChanged?: boolean;
  scope?: Scope | undefined;
}

export type FindTools = (name: string) => LookupCandidate | undefined;

export type LookupTools = (account_id: string, names: readonly string[]) => Promise<FindTools>;

export interface LookupOptions extends Pick<AgentsDeps, "settings"> {
  tools: Pick<Bound<typeof toolStore>, "listStandings">;
  catalog: Pick<Catalog, "find">;
}

/** Prefers an account's own tool to a built-in one of its name, which a later release may add. */
export function createToolLookup({ tools, catalog, settings }: LookupOptions): LookupTools {
  return async (account_id, names) => {
    const asked = [...new Set(names)].filter(isToolName);
    const found = asked.length > 0 ? await tools.listStandings(account_id, asked) : [];
    const own = new Map(found.map((one) => [one.name, one]));
    return (name) => {
      const standing = own.get(name);
      if (standing) {
        const { revision, risk, server_id, is_changed } = standing;
        const kind = server_id === null ? "http" : "mcp";
        const isOff = explainOff(standing, settings()) !== null;
        return { pin: { name, revision, kind, risk }, isOff, isChanged: is_changed };
      }
      const tool = catalog.find(name);
      if (!tool) return undefined;
      const { revision, risk, scope } = tool;
      return { pin: { name, revision, kind: "builtin", risk }, isOff: false, scope };
    };
  };
}
