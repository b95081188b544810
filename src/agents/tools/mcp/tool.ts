// A call of a tool of an MCP server, and what became of it.
import type { Compute } from "../../../compute/index.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { JsonObject } from "../../../platform/json.ts";
import { shorten } from "../../../platform/text.ts";
import type { OpenCredentials } from "../connections/connections.ts";
import {
  failure,
  type RemoteTask,
  type Tool,
  type ToolOutcome,
  type ToolResult,
  type ToolUse,
} from "../contract.ts";
import { FAILURE_CHARACTERS_MAX, GATEWAY_STATUSES, UNKNOWN } from "../http/endpoint.ts";
import { scrub } from "../http/scrub.ts";
import { describeCallable, type StoredRevision } from "../revision.ts";
import type { McpClient } from "./client.ts";
import type { McpOrigin } from "./origin.ts";
import { findOutputProblem, writeContent } from "./result.ts";
import { cancelTask, endOfTask, failTask, findTask, followTask, readTaskId } from "./tasks.ts";
import type { McpFailure, McpOutcome } from "./transport.ts";
import { type McpTarget, writeParameters } from "./wire.ts";

/** Refusals that contradict the stored definition: an unknown tool, or other parameters. */
const CONTRADICTIONS: readonly number[] = [-32601, -32602];

/** Time for which the result of a task is to be kept, since this process may stop meanwhile. */
const TASK_KEPT_MS = 3_600_000;
/** Part of a call's time that is left to cancel its task. */
const CANCEL_MS = 500;

export interface McpToolDeps {
  client: Pick<McpClient, "request">;
  clock: Clock;
  compute: Compute;
  openConnection: OpenCredentials;
  /** Called when a reply shows that the server has changed its tools. */
  onContradiction(about: McpContradiction): void;
}

export interface McpContradiction {
  server_id: string;
  account_id: string;
}

export type McpRevision = StoredRevision & { mcp: McpOrigin };

export const isListed = (revision: StoredRevision): revision is McpRevision =>
  revision.mcp !== null;

export function createMcpTool(revision: McpRevision, deps: McpToolDeps): Tool {
  return {
    ...describeCallable(revision),
    server_id: revision.mcp.server_id,
    // Annotations of a server make no call repeatable.
    ...(revision.risk !== "read" && { sends: { isIdempotent: false } }),
    run: (use) => callTool(revision, deps, use),
    async cancelTask(task) {
      const opened = await openTool(revision, deps, task.id, task);
      if (!("problem" in opened)) await cancelTask(deps, opened, task);
    },
  };
}

async function openTool(
  { account_id, endpoint: url, connection_id }: McpRevision,
  deps: McpToolDeps,
  session: string,
  task?: RemoteTask,
): Promise<McpTarget | { problem: string }> {
  const opened = await openTarget({ url, account_id, connection_id }, deps);
  if ("problem" in opened) return opened;
  return { ...opened, session: `${opened.session} ${session}`, adopted: task?.session };
}

async function callTool(
  revision: McpRevision,
  deps: McpToolDeps,
  use: ToolUse,
): Promise<ToolResult> {
  const { account_id, endpoint, mcp } = revision;
  const opened = await openTool(revision, deps, use.run?.id ?? use.tool_call_id, use.task);
  if ("problem" in opened) return failure(`Nothing was sent: ${opened.problem}`);
  const about = { server_id: mcp.server_id, account_id };
  let isContradicted = false;
  const reply = await sendCall(revision, deps, use, opened, (method) => {
    if (method === "notifications/tools/list_changed") isContradicted = true;
  });
  const judged = await judge(reply, revision, deps, use);
  if (isContradicted || judged.isContradicted) deps.onContradiction(about);
  const { outcome, content, isQuoted } = judged;
  const secret = secretOf(opened);
  const clean = secret === null ? content : await scrub(content, secret, false);
  const url = new URL(endpoint);
  const external = revision.external_content && isQuoted;
  return {
    outcome,
    // Cut last: a part of the secret at the end would not be found.
    content: outcome === "ok" ? clean : shorten(clean, FAILURE_CHARACTERS_MAX),
    external,
    ...(external && { external_url: url.origin + url.pathname }),
    http_status: reply.status ?? undefined,
  };
}

/** Sends a call, or goes on with the task that it has become, until its answer. */
async function sendCall(
  { mcp, timeout_ms, parameters }: McpRevision,
  deps: McpToolDeps,
  use: ToolUse,
  target: McpTarget,
  onNotification: (method: string) => void,
): Promise<McpOutcome> {
  const { clock, client } = deps;
  const { signal, tool_call_id } = use;
  const endAt = clock.monotonic() + timeout_ms - CANCEL_MS;
  if (use.task) {
    const watch = { task: use.task, isResumed: true, signal };
    return followTask(deps, target, {
      ...watch,
      endAt: endOfTask(use.task, use.now(), endAt, clock),
    });
  }
  const reply = await client.request(target, {
    method: "tools/call",
    params: {
      name: mcp.tool,
      arguments: use.arguments,
      _meta: { "idempotency-key": tool_call_id },
    },
    headers: { ...writeParameters(parameters, use.arguments), "idempotency-key": tool_call_id },
    ...(mcp.is_task && { taskMs: timeout_ms + TASK_KEPT_MS }),
    ...{ timeoutMs: timeout_ms, signal, onNotification },
  });
  const begun = findTask(reply, mcp.is_task === true);
  if (!begun) return reply;
  const secret = secretOf(target);
  const id = readTaskId(begun.taskId, secret);
  if (id === null) return failTask("The server's task has no id that can be kept.");
  const session = readTaskId(reply.session?.id, secret) ?? undefined;
  const task = { id, session, ends_at: use.now() + endAt - clock.monotonic() };
  await use.keepTask?.(task);
  return followTask(deps, target, { task, isResumed: false, endAt, signal });
}

interface Judged {
  outcome: ToolOutcome;
  content: string;
  /** Text of the server stands in `content`. */
  isQuoted: boolean;
  isContradicted?: boolean;
}

async function judge(
  reply: McpOutcome,
  { risk, mcp, account_id }: McpRevision,
  { compute }: McpToolDeps,
  { signal }: ToolUse,
): Promise<Judged> {
  if (!reply.ok) return judgeFailure(reply, risk === "read");
  const { result, error } = reply.answer;
  if (!result) {
    const { code, message } = error!;
    const content = `The server refused the call (${code}): ${message}`;
    return {
      ...{ outcome: "error", content, isQuoted: true },
      isContradicted: CONTRADICTIONS.includes(code),
    };
  }
  const refused = describeUnfinished(result);
  if (refused !== null) return { outcome: "error", content: refused, isQuoted: false };
  if (result.isError === true) {
    const content = `The tool failed.\n\n${writeContent(result)}`;
    return { outcome: "error", content, isQuoted: true };
  }
  const options = { compute, signal };
  const problem = await findOutputProblem(result, mcp.output_schema, account_id, options);
  if (problem === null) return { outcome: "ok", content: writeContent(result), isQuoted: true };
  const content = `The call was done, but its result is not what the tool promises: ${problem}.`;
  return { outcome: "error", content, isQuoted: true, isContradicted: true };
}

/** A server that needs more before it answers: nothing is given to it, so that it cannot go on. */
function describeUnfinished({ resultType }: JsonObject): string | null {
  if (resultType === undefined || resultType === "complete") return null;
  if (resultType === "input_required") {
    return "The server asks for input in the middle of the call, which agents do not give.";
  }
  return "The server answered with a kind of result that is not known here.";
}

function judgeFailure(reply: McpFailure, isRead: boolean): Judged {
  const { sent, code, message } = reply;
  const isLate = code === "timeout" || code === "aborted";
  const outcome = isRead && isLate ? "timeout" : classifyFailure(reply, isRead);
  if (!sent) return { outcome, content: `Nothing was sent: ${message}`, isQuoted: false };
  const content = outcome === "outcome_unknown" ? `${message} ${UNKNOWN}` : message;
  return { outcome, content, isQuoted: false };
}

/** A call was surely not done where it was not sent, or where the server itself refused it. */
function classifyFailure({ sent, code, status }: McpFailure, isRead: boolean): ToolOutcome {
  if (!sent || isRead) return "error";
  const isRefused = code === "refused_status" && !GATEWAY_STATUSES.has(status!);
  return isRefused ? "error" : "outcome_unknown";
}

/** The secret that was sent last, which no text of the server may repeat. */
export const secretOf = ({ connection }: McpTarget): string | null => connection?.secret ?? null;

/** The server with its connection, whose secret goes to its own hosts only. */
export async function openTarget(
  {
    url,
    account_id,
    connection_id,
  }: { url: string; account_id: string; connection_id: string | null },
  { openConnection }: Pick<McpToolDeps, "openConnection">,
): Promise<McpTarget | { problem: string }> {
  const session = `${account_id} ${connection_id} ${url}`;
  if (connection_id === null) return { session, url, connection: null };
  const opened = await openConnection({ id: connection_id, account_id, host: new URL(url).host });
  return opened.ok ? { session, url, connection: opened.connection } : opened;
}
