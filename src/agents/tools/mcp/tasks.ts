// Tasks of MCP servers: calls that go on at their server, asked for until they end.
import { type Clock, wait } from "../../../platform/clock.ts";
import { isObject, type JsonObject, readObject } from "../../../platform/json.ts";
import type { RemoteTask } from "../contract.ts";
import type { McpClient, McpReply, McpRequest } from "./client.ts";
import type { McpFailure, McpOutcome } from "./transport.ts";
import type { McpTarget } from "./wire.ts";

/** Bounds of the interval at which a server wants to be asked. */
const POLL_MS = { least: 500, usual: 2_000, most: 15_000 };
/** Time for one question, and for the last look at a task whose time is over. */
const ASK_MS = 5_000;
/** Requests of a task for input that are declined; one more ends it. */
const DECLINES_MAX = 16;
/** Ends that have a result, which sessions are asked for. */
const RESULTS: ReadonlySet<unknown> = new Set(["completed", "failed"]);
const TASK_ID = /^[!-~]{1,256}$/;

export interface TaskDeps {
  client: Pick<McpClient, "request">;
  clock: Clock;
}

export interface TaskWatch {
  task: RemoteTask;
  /** Another execution of the call began it. */
  isResumed: boolean;
  /** End of all time, on the monotonic clock. */
  endAt: number;
  signal: AbortSignal;
}

/** The task that a call has become; null: it is no task. */
export function findTask(reply: McpReply, isAsked: boolean): JsonObject | null {
  const { result } = reply.ok ? reply.answer : {};
  if (result?.resultType === "task") return result;
  return isAsked && reply.session?.takesTasks && isObject(result?.task) ? result.task : null;
}

/** The id of a task that a call has become, or of its session; null: none that can be kept. */
export function readTaskId(id: unknown, secret: string | null): string | null {
  const isId = typeof id === "string" && TASK_ID.test(id);
  return isId && !(secret !== null && id.includes(secret)) ? id : null;
}

export function failTask(message: string, code: McpFailure["code"] = "no_answer"): McpFailure {
  return { ok: false, code, sent: true, status: null, message };
}

/** Time of a task that another execution began; one whose time is over is looked at once more. */
export function endOfTask({ ends_at }: RemoteTask, now: number, endAt: number, clock: Clock) {
  return Math.min(endAt, clock.monotonic() + Math.max(ends_at - now, ASK_MS));
}

/** Asks a server to end a task, which it need not do. */
export async function cancelTask(
  { client }: Pick<TaskDeps, "client">,
  target: McpTarget,
  { id }: RemoteTask,
): Promise<void> {
  const params = { taskId: id };
  await client.request(target, { method: "tasks/cancel", params, timeoutMs: ASK_MS });
}

/** Asks for a task until it ends, and gives its end as the answer to the call. */
export async function followTask(
  deps: TaskDeps,
  target: McpTarget,
  { task, isResumed, endAt, signal }: TaskWatch,
): Promise<McpOutcome> {
  const { client, clock } = deps;
  const ask = (method: McpRequest["method"], more: JsonObject = {}) => {
    const timeoutMs = Math.max(1, Math.min(endAt - clock.monotonic(), ASK_MS));
    const params = { taskId: task.id, ...more };
    return client.request(target, { method, params, timeoutMs, signal });
  };
  const giveUp = (message: string, code?: McpFailure["code"]) => {
    void cancelTask(deps, target, task);
    return failTask(message, code);
  };
  let pollMs = isResumed ? 0 : POLL_MS.usual;
  for (let declines = 0; ; ) {
    const leftMs = endAt - clock.monotonic();
    if (leftMs <= 0) return giveUp("The task had not ended in time.", "timeout");
    // The run decides what becomes of the task of a call that it gives up.
    if (!(await wait(clock, Math.min(pollMs, leftMs), signal))) return failTask("", "aborted");
    pollMs = POLL_MS.usual;
    const reply = await ask("tasks/get");
    if (!reply.ok && reply.code === "too_long") return reply;
    // The server may be away for a while.
    if (!reply.ok) continue;
    const { result, error } = reply.answer;
    if (!result) return failTask(`The server refused to show the task (${error!.code}).`);
    if (result.taskId !== task.id) return giveUp("The server showed another task.");
    pollMs = boundPoll(result.pollIntervalMs ?? result.pollInterval);
    if (result.status === "working") continue;
    const isOver = result.status !== "input_required";
    if (reply.session?.isStateless === false) {
      // A person answers elsewhere, since none can be asked here.
      if (!isOver) continue;
      if (!RESULTS.has(result.status)) return readEnd(result, reply);
      const end = await ask("tasks/result");
      if (findTask(end, true)) return giveUp("The task ended in another task.");
      if (end.ok || end.code === "too_long") return end;
      continue;
    }
    if (isOver) return readEnd(result, reply);
    const inputResponses = declineAll(result);
    if (!inputResponses || declines === DECLINES_MAX) {
      return giveUp("The task asked for what agents do not give, and was cancelled.");
    }
    // A person answers elsewhere.
    if (Object.keys(inputResponses).length === 0) continue;
    declines++;
    await ask("tasks/update", { inputResponses });
  }
}

function boundPoll(asked: unknown): number {
  const { least, usual, most } = POLL_MS;
  return Math.min(Math.max(typeof asked === "number" ? asked : usual, least), most);
}

/** Declines what is asked of the user; undefined: more than that is asked. */
function declineAll({ inputRequests }: JsonObject): JsonObject | undefined {
  const asked = Object.entries(readObject(inputRequests));
  const isDeclined = ([, one]: [string, unknown]) =>
    readObject(one).method === "elicitation/create";
  if (asked.length > DECLINES_MAX || !asked.every(isDeclined)) return undefined;
  return Object.fromEntries(asked.map(([key]) => [key, { action: "decline" }]));
}

function readEnd(
  { status, result, error }: JsonObject,
  reply: Extract<McpOutcome, { ok: true }>,
): McpOutcome {
  const { id } = reply.answer;
  if (status === "completed" && isObject(result)) return { ...reply, answer: { id, result } };
  if (status === "failed") {
    const { code, message } = readObject(error);
    const told = { code: Number(code), message: typeof message === "string" ? message : "" };
    return { ...reply, answer: { id, error: told } };
  }
  const isCancelled = status === "cancelled";
  return failTask(isCancelled ? "The server cancelled the task." : "The task ended unreadably.");
}
