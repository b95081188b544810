// Calls of tools: an agent's call is a durable run, and the others read what the key may see.
import { accountOf, type Caller } from "../../access/index.ts";
import { apiError } from "../../platform/errors.ts";
import { readObject } from "../../platform/json.ts";
import { shorten } from "../../platform/text.ts";
import { approvalStore } from "../approvals/store.ts";
import { agentStore } from "../definitions/store.ts";
import { cancelRun } from "../runs/deps.ts";
import { walkRuns } from "../runs/list.ts";
import type { RunRow } from "../runs/run.ts";
import { makeIdempotency, readIdempotency } from "../runs/start-request.ts";
import { UNFILTERED } from "../runs/store/reads.ts";
import { hasStopped } from "../runs/waits.ts";
import type { McpCallOutcome, McpCallsDeps, McpExchange, WaitForRun } from "./exchange.ts";
import { McpFault } from "./protocol.ts";
import { createReads } from "./reads.ts";
import { answerByStream } from "./stream.ts";
import {
  AgentArguments,
  errorResultOf,
  isRead,
  listReads,
  readArguments,
  requireText,
} from "./tools.ts";
import { findDecision, runResult, type SeenRun, taskOf } from "./views.ts";

/** Longest wait of a client without tasks; the run goes on behind it. */
const WAIT_MS_MAX = 600_000;
const TASKS_AT_ONCE = 50;
/** Maximum approvals of a run that are named. */
const WAITING_MAX = 20;

/** Views of runs: as they stand, and as they are once they have come far enough. */
function createRunViews(deps: McpCallsDeps) {
  const { database, findRun } = deps;
  const approvals = database.bind(approvalStore);

  /** Finds the calls of a run that wait, with the run. */
  async function see(run: RunRow, { consoleUrl }: McpExchange): Promise<SeenRun> {
    if (run.status !== "waiting_approval") return { run, waiting: [] };
    const { account_id, id: run_id } = run;
    const filter = { account_id, agent_id: null, run_id, status: "pending", before: null } as const;
    const found = await approvals.list({ ...filter, limit: WAITING_MAX });
    return { run, waiting: found.map((one) => findDecision(one, consoleUrl)) };
  }

  const seeAgain = async (id: string, exchange: McpExchange) =>
    see(await findRun(exchange.caller, id), exchange);

  const wait: WaitForRun = (exchange, run_id, timeoutMs, isOver, show = runResult) => {
    const { call, caller, request, requestId } = exchange;
    const { progressToken } = readObject(call.params._meta);
    const isToken = typeof progressToken === "string" || Number.isSafeInteger(progressToken);
    return answerByStream(deps, {
      ...{ key_id: caller.key_id, run_id, timeoutMs, isOver },
      ...{ signal: request.signal, request_id: requestId },
      writeProgress: isToken
        ? (progress, status) => {
            const message = `The run ${run_id} is ${status}.`;
            const params = { progressToken, progress, message };
            return JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params });
          }
        : null,
      async writeAnswer() {
        // The account of the run may have been deleted meanwhile.
        const result = seeAgain(run_id, exchange).then(show).catch(errorResultOf);
        return exchange.write(await result);
      },
    });
  };

  return { see, seeAgain, wait };
}

export function createCalls(deps: McpCallsDeps) {
  const { database, findRun, starter, waits } = deps;
  const agents = database.bind(agentStore);
  const { see, seeAgain, wait } = createRunViews(deps);

  async function askAgent(name: string, exchange: McpExchange): Promise<McpCallOutcome> {
    const { call, form, caller, request } = exchange;
    const agent = await agents.findExposed(accountOf(caller), name);
    if (!agent) throw new McpFault("params", `There is no tool ${shorten(name)}.`);
    const { message, thread_id } = readArguments(AgentArguments, call.params.arguments);
    const thread = thread_id?.toLowerCase() ?? null;
    const asked = { message: message.toWellFormed(), thread_id: thread };
    // Clients that a proxy strips of headers name it in `_meta`.
    const key = readObject(call.params._meta)["idempotency-key"];
    const idempotency =
      readIdempotency(request, asked) ??
      (typeof key === "string" ? makeIdempotency(key, asked) : undefined);
    const leavePlace = form.hasTasks ? undefined : waits.takePlace(caller.key_id);
    let run: RunRow;
    try {
      ({ run } = await starter.start(caller, agent.id, asked, idempotency));
    } finally {
      // The wait takes it at once.
      leavePlace?.();
    }
    if (form.hasTasks) {
      const task = taskOf(await see(run, exchange), ttl(), form);
      return form.isStateless ? { resultType: "task", ...task } : { task };
    }
    // A person may take hours, for which no client waits.
    return wait(exchange, run.id, WAIT_MS_MAX, hasStopped);
  }

  const reads = createReads(deps, { see: seeAgain, wait });

  /** How long the rows of a run are kept, as clients are told. */
  const ttl = () => deps.settings().retention.runs;

  return {
    see: seeAgain,
    wait,
    ttl,
    listAgents: (caller: Caller, after: string, limit: number) =>
      agents.listExposed(accountOf(caller), after, limit),
    /** A page of the key's own tasks, newest first. */
    async listTasks({ caller, form }: McpExchange, before: number | null) {
      const own = { account_id: accountOf(caller), started_by_key_id: caller.key_id };
      const filter = { ...UNFILTERED, ...own, before, limit: TASKS_AT_ONCE };
      const walk = walkRuns(filter, deps.runs.list, (run) =>
        taskOf({ run, waiting: [] }, ttl(), form),
      );
      const tasks: object[] = [];
      for (;;) {
        const { done, value } = await walk.next();
        if (done) return { tasks, ...(value !== null && { nextCursor: String(value) }) };
        tasks.push(...value);
      }
    },
    async call(exchange: McpExchange): Promise<McpCallOutcome> {
      const name = requireText(exchange.call.params.name, "name");
      const isOffered = isRead(name) && listReads(exchange.caller.scopes).includes(name);
      return isOffered ? reads[name](exchange) : askAgent(name, exchange);
    },
    async cancel(id: string, exchange: McpExchange): Promise<SeenRun> {
      const run = await cancelRun(deps, await findRun(exchange.caller, id));
      if (!run) throw apiError("run_not_found");
      return see(run, exchange);
    },
  };
}

export type McpCalls = ReturnType<typeof createCalls>;
