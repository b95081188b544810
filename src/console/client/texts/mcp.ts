// Sentences of MCP servers and their tools.
import { count } from "./plural.ts";

export const mcp = {
  "mcp.count": (all: number, changed: number) =>
    count(all, "server", "servers") + (changed === 0 ? "" : `, ${changed} with changes`),
  "mcp.this": "The server",
  "mcp.all": "All servers",
  "mcp.missing": (id: string) => `There is no server ${id}.`,
  "mcp.empty": "No MCP server gives tools. An account adds one by POST /v1/mcp/servers.",
  "mcp.is.failing": "Unread",
  "mcp.is.changed": "Changed",
  "mcp.is.on": "Accepted",
  "mcp.server": "Server",
  "mcp.address": "Address",
  "mcp.connection": "Connection",
  "mcp.protocol": "Speaks",
  "mcp.read": "Last read",
  "mcp.skipped": "Not taken",
  "mcp.refresh": "Refresh",
  "mcp.refresh.done": "It is read again now.",
  "mcp.accepted": "Accepted",
  "mcp.newest": "Newest",
  "mcp.claims": "Claims of the server",
  "mcp.risk": "Risk",
  "mcp.risk.of": (tool: string) => `Risk of ${tool}`,
  "mcp.risk.title": (tool: string, risk: string) => `Set the risk of “${tool}” to ${risk}?`,
  "mcp.risk.says":
    "Versions made from now on have it. Their policies decide by it which calls ask.",
  "mcp.risk.verb": "Set risk",
  "mcp.change": (accepted: number, revision: number) =>
    `No run calls it until revision ${revision} is accepted: it differs from ${accepted}.`,
  "mcp.accept": (revision: number) => `Accept revision ${revision}`,
  "mcp.accept.of": (revision: number, tool: string) => `Accept revision ${revision} of ${tool}`,
  "mcp.accept.done": (tool: string) => `Runs call ${tool} again.`,
} as const;
