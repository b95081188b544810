// Registered tools of every account, for operators: lists, lookups and their switch.
import type { Bound, Database } from "../../database/index.ts";
import type { Risk } from "./contract.ts";
import { toolStore } from "./http/store/index.ts";
import { describeTools } from "./mcp/differences.ts";
import type { McpServerRow, McpTool } from "./mcp/server.ts";
import { mcpServerStore } from "./mcp/store.ts";
import {
  describeOwnRevision,
  isToolName,
  type ToolRevision,
  type ToolRevisionRow,
} from "./revision.ts";

const TOOLS_AT_ONCE = 100;

interface RiskLimits {
  now: number;
  /** Maximum bytes of the account's definitions. */
  storedMax: number;
}

export function createToolQueries(database: Database) {
  const store: Bound<typeof toolStore> = database.bind(toolStore);
  const servers: Bound<typeof mcpServerStore> = database.bind(mcpServerStore);
  const describe = (row: ToolRevisionRow | undefined) => row && describeOwnRevision(row);
  const of =
    (work: (account_id: string, name: string) => Promise<ToolRevisionRow | undefined>) =>
    async (account_id: string, name: string): Promise<ToolRevision | undefined> =>
      isToolName(name) ? describe(await work(account_id, name)) : undefined;
  return {
    async list(account_id: string): Promise<ToolRevision[]> {
      const found: ToolRevision[] = [];
      for (let after: string | null = null; ; ) {
        const rows: ToolRevisionRow[] = await store.list(account_id, after, TOOLS_AT_ONCE);
        found.push(...rows.map(describeOwnRevision));
        if (rows.length < TOOLS_AT_ONCE) return found;
        after = rows.at(-1)!.name;
      }
    },
    find: of(store.find),
    accept: (account_id: string, name: string, revision: number) =>
      of((id, one) => store.accept(id, one, revision))(account_id, name),
    /** A tool of an MCP server with what changed; undefined for every other one. */
    async findListed(account_id: string, name: string): Promise<McpTool | undefined> {
      const row = isToolName(name) ? await store.find(account_id, name) : undefined;
      if (!row?.mcp) return undefined;
      const listed = describeTools(await servers.listTools(row.mcp.server_id, account_id));
      return listed.find((one) => one.name === name);
    },
    /** Makes a revision that differs in its risk only; a tool of another kind is not found. */
    setRisk: async (account_id: string, name: string, risk: Risk, at: RiskLimits) => {
      const found = isToolName(name) ? await store.find(account_id, name) : undefined;
      if (!found?.mcp) return undefined;
      const change = { account_id, name, risk, now: at.now };
      return describe(await store.setRisk(change, at.storedMax));
    },
    listServers: servers.listOverviews,
    findServer: servers.findOverview,
    listServerTools: async ({ id, account_id }: McpServerRow): Promise<McpTool[]> =>
      describeTools(await servers.listTools(id, account_id)),
    makeServerDue: servers.makeDue,
    disable: of(store.disable),
    enable: (account_id: string, name: string, toolsMax: number) =>
      of((id, one) => store.enable(id, one, toolsMax))(account_id, name),
  };
}
