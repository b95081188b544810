// Routes of runs: start, list, read, steps and cancel.
import { type Static, Type } from "@sinclair/typebox";
import { accountOf } from "../../access/index.ts";
import {
  answerList,
  type HandlerContext,
  type HandlerReply,
  IdParams,
  type Router,
  streamNumbered,
} from "../../http/index.ts";
import { apiError, type ErrorCode } from "../../platform/errors.ts";
import { show } from "../../platform/schema.ts";
import { cancelRun, type RunsDeps } from "./deps.ts";
import { AgentRunsQuery, listRunPage, RunPage, RunsQuery, readRunsQuery } from "./list.ts";
import { readQuestion } from "./question.ts";
import { planRerun, RerunRun } from "./rerun.ts";
import { Run, type RunRow } from "./run.ts";
import type { RunRequest, RunStarter } from "./start.ts";
import { readIdempotency, StartRun } from "./start-request.ts";
import { RunStep, Step, type StepRow } from "./step.ts";
import { hasChangedSince, hasStopped, hasWait, type RunWaits } from "./waits.ts";

/** agents.limits.steps */
const STEPS_MAX = 500;
const SEQ_MAX = 2_147_483_647;

const StepsQuery = Type.Object({
  after_seq: Type.Optional(
    Type.Integer({
      description: "Only steps behind this one: 0 to 2147483647.",
      minimum: 0,
      maximum: SEQ_MAX,
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      description: "At most so many, 1 to 500; beside `after_seq` alone: 500.",
      minimum: 1,
      maximum: STEPS_MAX,
    }),
  ),
});
const StepList = Type.Object(
  { data: Type.Array(RunStep, { description: "Steps in the order of `seq`." }) },
  { $id: "RunStepList", description: "Steps of a run." },
);

/** agents.errors.p12 */
const START_ERRORS: readonly ErrorCode[] = [
  "invalid_request",
  "url_refused",
  "agent_held",
  "model_not_permitted",
  "agent_not_found",
  "agent_version_not_found",
  "model_not_found",
  "thread_not_found",
  "thread_agent_mismatch",
  "thread_busy",
  "agent_archived",
  "idempotency_conflict",
  "storage_limit_reached",
  "active_runs_limit",
  "daily_runs_limit",
  "admission_busy",
  "no_model_available",
];

const startReply = { schema: Run, headers: ["preference-applied"] } as const;

export interface RunRoutesDeps extends RunsDeps {
  starter: RunStarter;
  waits: RunWaits;
}

export function openRunRoutes(router: Router, deps: RunRoutesDeps): void {
  openStart(router, deps);
  openLists(router, deps);
  openSteps(router, deps);
  openOne(router, deps);
  openRerun(router, deps);
}

function openStart(router: Router, deps: RunRoutesDeps): void {
  const { starter, egress } = deps;
  // agents.endpoints.runs.post_agents_id_runs
  router.post(
    "/v1/agents/:id/runs",
    {
      summary: "Start a run",
      description:
        "Of the agent's current version, acting for the calling key. A header `Idempotency-Key` " +
        "of 1 to 128 printable ASCII characters makes it safe to send again for 24 hours. With " +
        "`Prefer: wait=N` the reply comes once the run has ended or waits for a person.",
      scope: "agents",
      params: IdParams,
      request_headers: ["idempotency-key", "prefer"],
      isSlow: hasWait,
      body: StartRun,
      replies: {
        202: { ...startReply, description: "The queued run; after a wait as it is then." },
      },
      refusals: START_ERRORS,
    },
    async ({ caller, params, body, request }) => {
      const idempotency = readIdempotency(request, body);
      const { input, metadata, ...options } = body;
      const planned: RunRequest = {
        ...options,
        ...readQuestion(input, (url) => egress.validate(url)),
        metadata: (metadata ?? {}) as Record<string, string>,
      };
      const { run } = await starter.start(caller, params.id, planned, idempotency);
      return answerStart(deps, { caller, request }, run);
    },
  );
}

/** Answers a start, after the wait that it asks for. */
async function answerStart(
  { waits, runs }: RunRoutesDeps,
  { caller: { key_id }, request }: Pick<HandlerContext<undefined>, "caller" | "request">,
  run: RunRow,
): Promise<HandlerReply> {
  const applied = await waits.wait({ key_id, run, request, isOver: hasStopped });
  // A run that has been started is answered even if it cannot be read again.
  const now = hasWait(request) && (await runs.find(run.id, null).catch(() => null));
  return [202, show(Run, now || run), applied];
}

function openLists(router: Router, { runs, requireOwned, log }: RunsDeps): void {
  type ListContext = Pick<HandlerContext<undefined>, "caller" | "request" | "requestId">;
  const list = async (
    { caller, request, requestId }: ListContext,
    query: Static<typeof RunsQuery>,
  ): Promise<HandlerReply> => {
    const account_id = accountOf(caller);
    const filter = readRunsQuery(account_id, query);
    // agents.authentication.6: applies to ids in filters too.
    if (query.agent_id) await requireOwned.agent(query.agent_id, account_id);
    if (query.thread_id) await requireOwned.thread(query.thread_id, account_id);
    return answerList(listRunPage(query, filter, runs.list), { request, requestId, log });
  };
  const replies = { 200: { description: "A page of runs, newest first.", schema: RunPage } };
  // agents.endpoints.runs.get_agents_id_runs
  router.get(
    "/v1/agents/:id/runs",
    {
      summary: "List the runs of an agent",
      scope: "agents",
      params: IdParams,
      query: AgentRunsQuery,
      replies,
      refusals: ["invalid_request", "agent_not_found", "thread_not_found"],
    },
    (context) => list(context, { ...context.query, agent_id: context.params.id }),
  );
  // agents.endpoints.runs.get_runs
  router.get(
    "/v1/runs",
    {
      summary: "List runs",
      scope: "agents",
      query: RunsQuery,
      replies,
      refusals: ["invalid_request", "agent_not_found", "thread_not_found"],
    },
    (context) => list(context, context.query),
  );
}

function openSteps(router: Router, { runs, findRun, log }: RunsDeps): void {
  // agents.endpoints.runs.get_runs_id_steps
  router.get(
    "/v1/runs/:id/steps",
    {
      summary: "List the steps of a run",
      description: "Without both parameters every step; others are ignored.",
      scope: "agents",
      params: IdParams,
      query: StepsQuery,
      ignores_unknown_query: true,
      replies: { 200: { description: "The steps.", schema: StepList } },
      refusals: ["run_not_found"],
    },
    async ({ caller, params, query, request, requestId }) => {
      const { id, last_seq } = await findRun(caller, params.id);
      const { after_seq = 0, limit: stepsMax = STEPS_MAX } = query;
      const isWhole = query.after_seq === undefined && query.limit === undefined;
      const until = isWhole ? last_seq : Math.min(last_seq, after_seq + stepsMax);
      const rows = {
        after: after_seq,
        until,
        list: (after: number, limit: number) => runs.listSteps(id, after, limit),
        show: (row: StepRow) => show(Step, row as never),
      };
      return streamNumbered(rows, { request, requestId, log });
    },
  );
}

function openOne(router: Router, deps: RunRoutesDeps): void {
  // agents.endpoints.runs.get_runs_id
  router.get(
    "/v1/runs/:id",
    {
      summary: "Show a run",
      description: "With `Prefer: wait=N` the reply comes at the run's next change, or its end.",
      scope: "agents",
      params: IdParams,
      request_headers: ["prefer"],
      isSlow: hasWait,
      replies: {
        200: { description: "The run.", schema: Run, headers: ["preference-applied"] },
      },
      refusals: ["run_not_found"],
    },
    async ({ caller, params, request }) => {
      const run = await deps.findRun(caller, params.id);
      if (!hasWait(request)) return [200, show(Run, run)];
      const { key_id } = caller;
      const isOver = hasChangedSince(run);
      const applied = await deps.waits.wait({ key_id, run, request, isOver });
      return [200, show(Run, await deps.findRun(caller, params.id)), applied];
    },
  );
  // agents.endpoints.runs.post_runs_id_cancel
  router.post(
    "/v1/runs/:id/cancel",
    {
      summary: "Cancel a run",
      description:
        "One that is queued or waits ends at once, one that runs at its next step; a final one " +
        "stays as it is.",
      scope: "agents",
      params: IdParams,
      replies: { 200: { description: "The run.", schema: Run } },
      refusals: ["run_not_found"],
    },
    async ({ caller, params }) => {
      const run = await cancelRun(deps, await deps.findRun(caller, params.id));
      if (!run) throw apiError("run_not_found");
      return [200, show(Run, run)];
    },
  );
}

function openRerun(router: Router, deps: RunRoutesDeps): void {
  router.post(
    "/v1/runs/:id/rerun",
    {
      summary: "Repeat a run",
      description:
        "Of one that has ended, with the same input and a thread of its own, acting for the " +
        "calling key. With `recorded` tools each call takes the next recorded result of the " +
        "same tool and arguments: no tool is called, nobody is asked, no note is written, no " +
        "webhook is sent, and a call without a record ends the run `failed` with " +
        "`not_recorded`. What comes from the record costs nothing. `Idempotency-Key` and " +
        "`Prefer: wait=N` work as for a start.",
      scope: "agents",
      params: IdParams,
      request_headers: ["idempotency-key", "prefer"],
      isSlow: hasWait,
      body: RerunRun,
      replies: {
        202: { ...startReply, description: "The queued rerun; after a wait as it is then." },
      },
      refusals: ["run_not_found", "run_not_finished", ...START_ERRORS],
    },
    async ({ caller, params, body, request }) => {
      const idempotency = readIdempotency(request, { rerun_of: params.id, ...body });
      const run = await deps.findRun(caller, params.id);
      const planned = await planRerun(deps, run, body);
      const rerun = await deps.starter.start(caller, run.agent_id, planned, idempotency);
      return answerStart(deps, { caller, request }, rerun.run);
    },
  );
}
