// Ids and groups of operations, from which client generators take names.
import type { HttpMethod, Path } from "../route.ts";

const GROUPS = {
  chat: "Chat completions, as one JSON reply or as server-sent events.",
  models: "The models that a key may call.",
  embeddings: "Vectors of texts.",
  search: "Pages of the web.",
  agents: "Agents and their immutable versions.",
  runs: "Executions of agents, with their steps and events.",
  evaluations: "Ended runs, repeated on a version and checked.",
  threads: "Conversations to which runs add.",
  approvals: "Tool calls that wait for a person.",
  usage: "Limits of keys and accounts, and sums of what was used.",
  tools: "Tools of agents: those of the platform, and endpoints of your own.",
  mcp: "The Model Context Protocol: servers whose tools agents use, and agents as tools.",
  connections: "Stored secrets that tools send with their calls.",
  triggers: "What starts runs by itself, on a schedule or on a signed request.",
  webhooks: "Endpoints that are sent events, and the deliveries to them.",
} as const;
export type OperationGroup = keyof typeof GROUPS;

export const TAGS = Object.entries(GROUPS).map(([name, description]) => ({ name, description }));

type Operations = Readonly<Partial<Record<`${HttpMethod} ${Path}`, string>>>;

const OPERATIONS: Readonly<Record<OperationGroup, Operations>> = {
  chat: {
    "POST /v1/chat/completions": "createChatCompletion",
    "POST /v1/responses": "createResponse",
    "POST /v1/messages": "createMessage",
    "POST /v1/messages/count_tokens": "countMessageTokens",
  },
  models: { "GET /v1/models": "listModels", "GET /v1/models/:id": "getModel" },
  embeddings: { "POST /v1/embeddings": "createEmbeddings" },
  search: { "POST /v1/search": "searchWeb" },
  agents: {
    "POST /v1/agents": "createAgent",
    "GET /v1/agents": "listAgents",
    "GET /v1/agents/:id": "getAgent",
    "PATCH /v1/agents/:id": "updateAgent",
    "POST /v1/agents/:id/check": "checkAgent",
    "GET /v1/agents/:id/versions": "listAgentVersions",
    "POST /v1/agents/:id/versions": "createAgentVersion",
  },
  runs: {
    "POST /v1/agents/:id/runs": "startRun",
    "GET /v1/agents/:id/runs": "listAgentRuns",
    "GET /v1/runs": "listRuns",
    "GET /v1/runs/:id": "getRun",
    "GET /v1/runs/:id/steps": "listRunSteps",
    "GET /v1/runs/:id/events": "streamRunEvents",
    "GET /v1/runs/:id/rounds": "listRunRounds",
    "GET /v1/runs/:id/rounds/:round": "getRunRound",
    "POST /v1/runs/:id/cancel": "cancelRun",
    "POST /v1/runs/:id/rerun": "rerunRun",
  },
  evaluations: {
    "POST /v1/agents/:id/evaluations": "startEvaluation",
    "GET /v1/agents/:id/evaluations": "listEvaluations",
    "GET /v1/evaluations/:id": "getEvaluation",
    "POST /v1/evaluations/:id/cancel": "cancelEvaluation",
  },
  threads: {
    "GET /v1/threads": "listThreads",
    "GET /v1/threads/:id": "getThread",
    "GET /v1/threads/:id/messages": "listThreadMessages",
  },
  approvals: {
    "GET /v1/approvals": "listApprovals",
    "GET /v1/approvals/:id": "getApproval",
    "POST /v1/approvals/:id/approve": "approveApproval",
    "POST /v1/approvals/:id/reject": "rejectApproval",
  },
  usage: { "GET /v1/usage": "getUsage", "GET /v1/agents/usage": "getAgentUsage" },
  tools: {
    "GET /v1/tools": "listTools",
    "POST /v1/tools": "registerTool",
    "GET /v1/tools/:name": "getTool",
    "GET /v1/tools/:name/revisions": "listToolRevisions",
    "POST /v1/tools/:name/revisions": "createToolRevision",
    "POST /v1/tools/:name/disable": "disableTool",
    "POST /v1/tools/:name/enable": "enableTool",
    "POST /v1/tools/:name/test": "testTool",
    "POST /v1/tools/:name/accept": "acceptTool",
    "PATCH /v1/tools/:name": "updateTool",
  },
  mcp: {
    "POST /mcp": "callMcp",
    "POST /v1/mcp/servers": "createMcpServer",
    "GET /v1/mcp/servers": "listMcpServers",
    "GET /v1/mcp/servers/:id": "getMcpServer",
    "DELETE /v1/mcp/servers/:id": "deleteMcpServer",
    "POST /v1/mcp/servers/:id/refresh": "refreshMcpServer",
    "GET /v1/mcp/servers/:id/tools": "listMcpTools",
  },
  connections: {
    "POST /v1/tools/connections": "createConnection",
    "GET /v1/tools/connections": "listConnections",
    "GET /v1/tools/connections/:id": "getConnection",
    "PATCH /v1/tools/connections/:id": "updateConnection",
    "DELETE /v1/tools/connections/:id": "deleteConnection",
    "GET /v1/tools/connections/:id/oauth": "getConnectionOauth",
    "PUT /v1/tools/connections/:id/secret": "setConnectionSecret",
    "POST /v1/tools/connections/:id/secret": "postConnectionSecret",
  },
  triggers: {
    "POST /v1/triggers": "createTrigger",
    "GET /v1/triggers": "listTriggers",
    "GET /v1/triggers/:id": "getTrigger",
    "PATCH /v1/triggers/:id": "updateTrigger",
    "DELETE /v1/triggers/:id": "deleteTrigger",
    "POST /v1/triggers/:id/rotate-secret": "rotateTriggerSecret",
    "GET /v1/triggers/:id/fires": "listTriggerFires",
    "POST /v1/triggers/:id/fires": "fireTrigger",
    "POST /v1/hooks/:trigger_id": "receiveHook",
  },
  webhooks: {
    "POST /v1/webhooks": "createWebhook",
    "GET /v1/webhooks": "listWebhooks",
    "GET /v1/webhooks/:id": "getWebhook",
    "PATCH /v1/webhooks/:id": "updateWebhook",
    "DELETE /v1/webhooks/:id": "deleteWebhook",
    "POST /v1/webhooks/:id/rotate-secret": "rotateWebhookSecret",
    "POST /v1/webhooks/:id/test": "testWebhook",
    "GET /v1/webhooks/:id/deliveries": "listDeliveries",
    "POST /v1/webhooks/:id/deliveries": "recoverDeliveries",
    "GET /v1/webhooks/:id/deliveries/:delivery_id": "getDelivery",
    "POST /v1/webhooks/:id/deliveries/:delivery_id/replay": "replayDelivery",
  },
};

const NAMES = new Map(
  Object.entries(OPERATIONS).flatMap(([group, operations]) =>
    Object.entries(operations as Record<string, string>).map(
      ([route, id]) => [route, { group, id }] as const,
    ),
  ),
);

/** Returns undefined for routes that only tests have. */
export const findOperation = (method: HttpMethod, path: Path) => NAMES.get(`${method} ${path}`);
