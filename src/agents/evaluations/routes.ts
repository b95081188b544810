// Routes of evaluations: start, read, cancel.

import { Type } from "@sinclair/typebox";
import { accountOf } from "../../access/index.ts";
import { IdParams, NEXT_BEFORE, PageQuery, type Router, readPage } from "../../http/index.ts";
import { Resource, show } from "../../platform/schema.ts";
import { Evaluation, ListedEvaluation } from "./evaluation.ts";
import { type Evaluations, StartEvaluation } from "./evaluations.ts";

const EvaluationsQuery = Type.Object(PageQuery("Evaluations of a page: 1 to 200; left out: 50."));

const EvaluationPage = Resource(
  "EvaluationPage",
  {
    data: Type.Array(ListedEvaluation, { description: "Newest first." }),
    next_before: NEXT_BEFORE,
  },
  "A page of an agent's evaluations.",
);

export function openEvaluationRoutes(router: Router, evaluations: Evaluations): void {
  router.post(
    "/v1/agents/:id/evaluations",
    {
      summary: "Evaluate a version",
      description:
        "Repeats ended runs of the agent on a version, acting for the calling key, at most 8 at " +
        "a time, and checks each rerun. Read it until `finished_at` is set; it goes on after a " +
        "restart. An account has at most 3 under way.",
      scope: "agents",
      params: IdParams,
      body: StartEvaluation,
      replies: { 202: { description: "The evaluation.", schema: Evaluation } },
      refusals: [
        ...(["invalid_request", "agent_not_found", "agent_version_not_found"] as const),
        ...(["run_not_found", "run_not_finished"] as const),
        ...(["storage_limit_reached", "evaluations_limit", "service_unavailable"] as const),
      ],
    },
    async ({ caller, params, body }) => {
      // A key without an account owns no agents.
      const starter = { account_id: accountOf(caller), key_id: caller.key_id, operator: null };
      return [202, show(Evaluation, await evaluations.start(starter, params.id, body))];
    },
  );
  openEvaluationList(router, evaluations);
  const replies = { 200: { description: "The evaluation.", schema: Evaluation } };
  router.get(
    "/v1/evaluations/:id",
    {
      summary: "Show an evaluation",
      description: "With the results of all its runs, those that are not assessed yet as nulls.",
      scope: "agents",
      params: IdParams,
      replies,
      refusals: ["evaluation_not_found"],
    },
    async ({ caller, params }) => [
      200,
      show(Evaluation, await evaluations.find(params.id, accountOf(caller))),
    ],
  );
  router.post(
    "/v1/evaluations/:id/cancel",
    {
      summary: "Cancel an evaluation",
      description: "Starts no further rerun; those under way go on. One that is over stays so.",
      scope: "agents",
      params: IdParams,
      replies,
      refusals: ["evaluation_not_found"],
    },
    async ({ caller, params }) => [
      200,
      show(Evaluation, await evaluations.cancel(params.id, accountOf(caller))),
    ],
  );
}

function openEvaluationList(router: Router, evaluations: Evaluations): void {
  router.get(
    "/v1/agents/:id/evaluations",
    {
      summary: "List an agent's evaluations",
      description: "Without their checks and results.",
      scope: "agents",
      params: IdParams,
      query: EvaluationsQuery,
      replies: { 200: { description: "A page, newest first.", schema: EvaluationPage } },
      refusals: ["agent_not_found"],
    },
    async ({ caller, params: { id }, query }) => [
      200,
      await readPage({
        name: `evaluations of ${id}`,
        ...{ limit: query.limit, before: query.before },
        read: (part) => evaluations.list(id, accountOf(caller), part),
        show: (row) => show(ListedEvaluation, row),
      }),
    ],
  );
}
