// The topics of the documentation, in the order in which they are listed.
import { ERROR_CODES, type ErrorCode, publicCode, typeOf } from "../platform/errors.ts";
import { unpackText } from "../platform/packed.ts";
import agents from "./agents.md" with { type: "file" };
import aiSdk from "./ai-sdk.md" with { type: "file" };
import approvals from "./approvals.md" with { type: "file" };
import backup from "./backup.md" with { type: "file" };
import budgets from "./budgets.md" with { type: "file" };
import chat from "./chat.md" with { type: "file" };
import console from "./console.md" with { type: "file" };
import data from "./data.md" with { type: "file" };
import deployment from "./deployment.md" with { type: "file" };
import evaluation from "./evaluation.md" with { type: "file" };
import fromAssistants from "./from-assistants.md" with { type: "file" };
import fromLanggraph from "./from-langgraph.md" with { type: "file" };
import limits from "./limits.md" with { type: "file" };
import mcp from "./mcp.md" with { type: "file" };
import mcpServer from "./mcp-server.md" with { type: "file" };
import messages from "./messages.md" with { type: "file" };
import models from "./models.md" with { type: "file" };
import monitoring from "./monitoring.md" with { type: "file" };
import operators from "./operators.md" with { type: "file" };
import performance from "./performance.md" with { type: "file" };
import quickstart from "./quickstart.md" with { type: "file" };
import requests from "./requests.md" with { type: "file" };
import responses from "./responses.md" with { type: "file" };
import scaling from "./scaling.md" with { type: "file" };
import security from "./security.md" with { type: "file" };
import services from "./services.md" with { type: "file" };
import severalMachines from "./several-machines.md" with { type: "file" };
import stub from "./stub.md" with { type: "file" };
import tools from "./tools.md" with { type: "file" };
import triggers from "./triggers.md" with { type: "file" };
import upgrade from "./upgrade.md" with { type: "file" };
import webhooks from "./webhooks.md" with { type: "file" };

/** Groups of the sidebar, in its order. */
export const TOPIC_GROUPS = ["Begin", "Gateway", "Agents", "Operation", "Reference"] as const;
export type TopicGroup = (typeof TOPIC_GROUPS)[number];

export interface DocsTopic {
  /** Last segment of its address, and the argument of `wadi help`. */
  name: string;
  summary: string;
  group: TopicGroup;
  /** Returns its Markdown. Nothing is read before that. */
  read(): Promise<string>;
}

/** Writes the references whose tables stand in modules above this one. */
export interface References {
  writeCommands(): Promise<string>;
}

export function listTopics({ writeCommands }: References): readonly DocsTopic[] {
  return [
    ...inGroup("Begin", [
      page(
        "quickstart",
        "install, chat, run an agent, approve a call, receive a webhook",
        quickstart,
      ),
      page("console", "the console for people: sign in, decide, keys, playground", console),
    ]),
    ...inGroup("Gateway", [
      page("chat", "chat completions, clients, reasoning and deep thinking", chat),
      page("responses", "Open Responses: the format of many clients' default", responses),
      page("messages", "the format of Anthropic's Messages API", messages),
      page("ai-sdk", "the AI SDK: text, objects, vectors, a durable run as a tool", aiSdk),
      page("services", "embeddings and web search", services),
      page("stub", "the stub model, recordings and the keys of `wadi dev`", stub),
    ]),
    ...inGroup("Agents", [
      page("agents", "agents, versions, runs, threads, budgets and streams", agents),
      page("evaluation", "repeat runs without effects, evaluate a version on many", evaluation),
      page("approvals", "which calls wait for a person, and how to decide", approvals),
      page("tools", "built-in tools, your own endpoints, connections", tools),
      page("mcp", "tools of MCP servers: register, judge, accept changes", mcp),
      page("mcp-server", "agents as tools in your editor: MCP, tasks, approvals", mcpServer),
      page("triggers", "start runs on a schedule or by a signed request", triggers),
      page("webhooks", "receive events: signatures, attempts, replays", webhooks),
      page("from-langgraph", "what graphs, threads and interrupts become", fromLanggraph),
      page("from-assistants", "what assistants, threads and polling become", fromAssistants),
    ]),
    ...inGroup("Operation", [
      page("models", "connect model servers: replicas, health, start on demand", models),
      page("deployment", "service and proxy, accounts and keys, reload, stop, health", deployment),
      page("several-machines", "several servers on one database, with Valkey", severalMachines),
      page("scaling", "what ends first, and what comes after one installation", scaling),
      page("upgrade", "replace the running server without downtime", upgrade),
      page(
        "operators",
        "tokens for operators, the command line from elsewhere, audit log",
        operators,
      ),
      page("monitoring", "metrics for Prometheus, a dashboard, alerts, traces", monitoring),
      page("requests", "why a request failed; find, explain and follow requests", requests),
      page("data", "files, secrets key, damage, retention, usage", data),
      page("backup", "back up, restore a paused copy, resume, move to another engine", backup),
      page("budgets", "limits of requests, tokens and money for accounts and keys", budgets),
      page("limits", "rate limits, quotas and what happens when they are reached", limits),
      page("performance", "time of chats, streams and runs, beside other systems", performance),
      page("security", "who may do what, outgoing requests, secrets, logs", security),
    ]),
    ...inGroup("Reference", [
      topic("settings", "every setting with its meaning and default", writeSettingsPage),
      topic("errors", "every error code with its status", async () => writeErrorReference()),
      topic("cli", "every command with its options", writeCommands),
    ]),
  ];
}

type UngroupedTopic = Omit<DocsTopic, "group">;

function inGroup(group: TopicGroup, topics: readonly UngroupedTopic[]): DocsTopic[] {
  return topics.map((one) => ({ ...one, group }));
}

function topic(name: string, summary: string, read: DocsTopic["read"]): UngroupedTopic {
  return { name, summary, read };
}

function page(name: string, summary: string, file: string): UngroupedTopic {
  return topic(name, summary, async () => unpackText(await Bun.file(file).bytes()));
}

async function writeSettingsPage(): Promise<string> {
  const { writeSettingsReference } = await import("../settings/index.ts");
  return `# Settings

\`wadi init\` writes a \`wadi.toml\` with every setting, commented out, and its default.

Write durations as \`500ms\`, \`5s\`, \`10m\`, \`24h\` or \`90d\`, and prices as decimal text.
An unknown setting is an error that names the nearest known one.
An environment variable overrides any setting outside \`[[models]]\`: \`WADI_SERVER__PORT=9000\`
sets \`server.port\`. Keep secrets in the environment or in files (\`api_key_env\`,
\`api_key_file\`, \`database_env\`), never in \`wadi.toml\`.

${writeSettingsReference()}`;
}

function writeErrorReference(): string {
  return `# Errors

An error reply is JSON: \`{"error":{"message","type","code","param"}}\`. \`param\` names the
field at fault. Decide by \`code\`, or by the status where the reply has no code. \`message\` is for
people and may change. Codes are only ever added. Every reply carries \`x-request-id\`: quote it
when you ask for help.

Chat, embeddings and search also send \`request_id\`, \`statusCode\`, \`message\` and \`code\`
beside \`error\`. The agent service and \`/v1/responses\` send \`error\` alone.
[\`/v1/messages\`](/docs/messages) has an envelope, types and some statuses of its own. Where the
table says "no code", the agent service leaves \`code\` out. So it does for invalid fields, with
status 400.

Retry 429, 502, 503 and 504. Wait as long as \`Retry-After\` says; don't retry a reply with
\`x-should-retry: false\`.

| code | status | type | agent service | meaning |
|---|---|---|---|---|
${listErrors().join("\n")}
`;
}

/** Codes that the public API never sends. */
const OPERATOR_ONLY: ReadonlySet<ErrorCode> = new Set(["conflict"]);

function listErrors(): string[] {
  return (Object.keys(ERROR_CODES) as ErrorCode[])
    .filter((code) => publicCode(code, "gateway") === code)
    .map((code) => {
      const entry: { status: number; also?: number; message: string } = ERROR_CODES[code];
      const { status, also, message } = entry;
      const isWithout = publicCode(code, "agents") === null;
      const agents = OPERATOR_ONLY.has(code) ? "operator API only" : isWithout ? "no code" : "";
      const statuses = also === undefined ? `${status}` : `${status} or ${also}`;
      return `| \`${code}\` | ${statuses} | \`${typeOf(status)}\` | ${agents} | ${message} |`;
    });
}
