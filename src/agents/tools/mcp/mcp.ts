// Wires the tools of MCP servers: one client for runs, trials and readings.
import type { OpenCredentials } from "../connections/connections.ts";
import type { CheckSchema } from "../json-schema/check.ts";
import type { ToolsDeps } from "../routes.ts";
import { McpClient } from "./client.ts";
import { McpRefresher } from "./refresher.ts";
import { McpServers } from "./servers.ts";
import { mcpServerStore } from "./store.ts";
import type { McpContradiction, McpToolDeps } from "./tool.ts";

interface McpDeps extends ToolsDeps {
  openConnection: OpenCredentials;
  checkSchema: CheckSchema;
}

export function createMcp(deps: McpDeps) {
  const { database, egress, compute, clock, log, openConnection } = deps;
  const store = database.bind(mcpServerStore);
  const client = new McpClient({ egress, clock });
  const servers = new McpServers({ ...deps, store, client });
  const onContradiction = ({ server_id, account_id }: McpContradiction) => {
    store.suspect(server_id, clock.now()).catch((error: unknown) => {
      log.warn("mcp: a server could not be marked as changed", { account_id, error });
    });
  };
  const toolDeps: McpToolDeps = { client, clock, compute, openConnection, onContradiction };
  return { servers, toolDeps, refresher: new McpRefresher({ ...deps, servers }) };
}
