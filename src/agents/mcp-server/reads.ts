// Tools that read runs, costs and approvals of the key's account.
import type { Static } from "@sinclair/typebox";
import { accountOf } from "../../access/index.ts";
import { apiError } from "../../platform/errors.ts";
import { formatMoney } from "../../platform/money.ts";
import { shorten } from "../../platform/text.ts";
import { approvalStore } from "../approvals/store.ts";
import { cancelRun } from "../runs/deps.ts";
import type { RunRow } from "../runs/run.ts";
import { UNFILTERED } from "../runs/store/reads.ts";
import { FINAL } from "../runs/transitions.ts";
import { hasEnded } from "../runs/waits.ts";
import { sumUsage } from "../usage/routes.ts";
import { usageStore } from "../usage/store.ts";
import type { McpCallOutcome, McpCallsDeps, McpExchange, WaitForRun } from "./exchange.ts";
import { READS, type ReadName, readArguments } from "./tools.ts";
import { findDecision, iso, runResult, type SeenRun, textResult } from "./views.ts";

const LIMIT = 20;
const ASKED_CHARACTERS = 200;

type McpRead = (exchange: McpExchange) => Promise<McpCallOutcome>;

interface RunViews {
  see(id: string, exchange: McpExchange): Promise<SeenRun>;
  wait: WaitForRun;
}

export function createReads(deps: McpCallsDeps, views: RunViews): Record<ReadName, McpRead> {
  const { database, runs, clock } = deps;
  const approvals = database.bind(approvalStore);
  const usage = database.bind(usageStore);
  return {
    get_run: (exchange) => getRun(views, exchange),
    async list_runs(exchange) {
      const { status = null, limit = LIMIT } = argumentsOf("list_runs", exchange);
      const found = await runs.list({
        ...{ ...UNFILTERED, account_id: accountOf(exchange.caller), status, limit },
      });
      return listResult("runs", found.map(describeRun));
    },
    async cancel_run(exchange) {
      const { run_id } = argumentsOf("cancel_run", exchange);
      const { run: found } = await views.see(run_id.toLowerCase(), exchange);
      const run = await cancelRun(deps, found);
      if (!run) throw apiError("run_not_found");
      const { id, status, cancel_requested } = run;
      const isEnded = FINAL.has(status) ? `ended as ${status}` : "ends at its next step";
      return textResult(`The run ${id} ${isEnded}.`, { run_id: id, status, cancel_requested });
    },
    async list_approvals(exchange) {
      const { status = "pending", limit = LIMIT } = argumentsOf("list_approvals", exchange);
      const account_id = accountOf(exchange.caller);
      const filter = { account_id, agent_id: null, run_id: null, status, before: null, limit };
      const found = await approvals.list(filter);
      const lines = found.map((one) => ({
        ...{ approval_id: one.id, run_id: one.run_id, tool: one.tool, status: one.status },
        ...{ requested_at: iso(one.requested_at), expires_at: iso(one.expires_at) },
        url: findDecision(one, exchange.consoleUrl).url,
      }));
      return listResult("approvals", lines);
    },
    async get_costs(exchange) {
      const query = argumentsOf("get_costs", exchange);
      const report = await sumUsage(usage, accountOf(exchange.caller), query, clock.now());
      return textResult(JSON.stringify(report), report);
    },
  };
}

async function getRun({ see, wait }: RunViews, exchange: McpExchange): Promise<McpCallOutcome> {
  const { run_id, wait_seconds = 0 } = argumentsOf("get_run", exchange);
  const seen = await see(run_id.toLowerCase(), exchange);
  if (wait_seconds === 0 || FINAL.has(seen.run.status)) return runResult(seen);
  return wait(exchange, seen.run.id, wait_seconds * 1_000, hasEnded);
}

function argumentsOf<N extends ReadName>(name: N, { call }: McpExchange) {
  const { input } = READS[name];
  return readArguments(input, call.params.arguments) as Static<(typeof READS)[N]["input"]>;
}

function describeRun({ id, agent_id, status, input, cost, created_at, finished_at }: RunRow) {
  return {
    ...{ run_id: id, agent_id, status, asked: shorten(input.message, ASKED_CHARACTERS) },
    cost_sar: cost.total === null ? null : formatMoney(cost.total),
    created_at: iso(created_at),
    finished_at: finished_at === null ? null : iso(finished_at),
  };
}

function listResult(name: string, found: readonly object[]) {
  const fields = { [name]: found };
  return textResult(JSON.stringify(fields), fields);
}
