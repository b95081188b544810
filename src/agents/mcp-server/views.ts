// Runs as clients of the Model Context Protocol see them: results of tools, and tasks.
import { formatMoney } from "../../platform/money.ts";
import type { ApprovalRow } from "../approvals/approval.ts";
import type { RunRow } from "../runs/run.ts";
import { FINAL } from "../runs/transitions.ts";
import type { McpClientForm } from "./protocol.ts";

/** Interval at which clients ask for a task; a key may send 120 requests a minute by default. */
const POLL_MS = 2_000;

/** A call that waits for a person, and where to decide it; null: the console is not reachable. */
export interface WaitingCall {
  id: string;
  tool: string;
  url: string | null;
}

export interface SeenRun {
  run: RunRow;
  waiting: readonly WaitingCall[];
}

export function textResult(text: string, structuredContent?: object, isError = false) {
  return {
    content: [{ type: "text", text }],
    ...(structuredContent && { structuredContent }),
    isError,
  };
}

/** The result of a call: of an ended run, or of one that goes on after the wait is over. */
export function runResult({ run, waiting }: SeenRun) {
  const { status, output, error } = run;
  const message = output?.message ?? null;
  const fields = {
    run_id: run.id,
    thread_id: run.thread_id,
    status,
    message,
    ...(output?.data && { data: output.data }),
    error,
    cost_sar: run.cost.total === null ? null : formatMoney(run.cost.total),
    approvals: waiting.map(({ id, tool, url }) => ({ approval_id: id, tool, url })),
  };
  if (status === "succeeded") return textResult(message ?? "", fields);
  if (!FINAL.has(status)) return textResult(describe({ run, waiting }), fields);
  const said = message === null ? "" : `\n\n${message}`;
  return textResult(`The run ended as ${status}: ${error?.message ?? status}${said}`, fields, true);
}

/** Says where a run stands, and what a person has to do. */
function describe({ run, waiting }: SeenRun): string {
  const calls = waiting.map(({ id, tool, url }) => {
    const place = url === null ? `approval ${id}` : url;
    return `The call of ${tool} waits for a person, who decides it at ${place}`;
  });
  const again = `Read the run again with get_run and run_id ${run.id}.`;
  return [...(calls.length > 0 ? calls : [`The run is ${run.status}.`]), again].join("\n");
}

export const iso = (time: number) => new Date(time).toISOString();

const TASK_STATUSES = {
  queued: "working",
  running: "working",
  sleeping: "working",
  waiting_input: "working",
  waiting_approval: "input_required",
  succeeded: "completed",
  failed: "completed",
  budget_exceeded: "completed",
  cancelled: "cancelled",
} as const;

/** A task is its run: the same id, kept in the database, so that it outlives both processes. */
export function taskOf(seen: SeenRun, ttl: number | null, { isStateless }: McpClientForm) {
  const { run } = seen;
  const updated = run.finished_at ?? run.started_at ?? run.created_at;
  const status = TASK_STATUSES[run.status];
  // The handshake's revisions tell a failed call by the task, too.
  const isFailed = !isStateless && status === "completed" && run.status !== "succeeded";
  return {
    taskId: run.id,
    status: isFailed ? "failed" : status,
    statusMessage: FINAL.has(run.status) ? `The run ended as ${run.status}.` : describe(seen),
    createdAt: iso(run.created_at),
    lastUpdatedAt: iso(updated),
    ...(isStateless ? { ttlMs: ttl, pollIntervalMs: POLL_MS } : { ttl, pollInterval: POLL_MS }),
  };
}

/** The task with what belongs to its status, as `tasks/get` of the stateless revision answers. */
export function detailedTask(seen: SeenRun, ttl: number | null, form: McpClientForm) {
  const task = taskOf(seen, ttl, form);
  if (task.status === "completed") return { ...task, result: completed(runResult(seen)) };
  if (task.status !== "input_required") return task;
  return { ...task, inputRequests: form.opensUrls ? askPerson(seen.waiting) : {} };
}

/** Asks to open the console. What comes back decides nothing: a person does, there. */
function askPerson(waiting: readonly WaitingCall[]) {
  const requests = waiting.flatMap(({ id, tool, url }) => {
    if (url === null) return [];
    const message = `A call of ${tool} waits for your decision.`;
    return [[id, { method: "elicitation/create", params: { mode: "url", message, url } }] as const];
  });
  return Object.fromEntries(requests);
}

export function completed<T extends object>(result: T) {
  return { resultType: "complete", ...result };
}

/** The console's page of an approval; it asks who opens it to sign in. */
export function findDecision(approval: ApprovalRow, consoleUrl: string | null): WaitingCall {
  const url = consoleUrl && `${consoleUrl}/console/approvals/${approval.id}`;
  return { id: approval.id, tool: approval.tool, url };
}
