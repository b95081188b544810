// Operations on runs of every account.
import { Type } from "@sinclair/typebox";
import { Run, STATUSES, Step } from "../../agents/index.ts";
import { oneOf, show } from "../../platform/schema.ts";
import { defineOperation } from "../operation.ts";
import { ListedRun } from "../runs.ts";
import { account, idOf, input, LIMIT, limit } from "./fields.ts";

const STEPS_MAX = 1_000;

export const runOperations = {
  list: defineOperation({
    name: "runs list",
    method: "GET",
    path: "/runs",
    summary: "List the newest runs.",
    input: input({
      account,
      agent: Type.Optional(idOf("agent")),
      status: Type.Optional(oneOf(STATUSES, "Status of the runs.")),
      limit,
    }),
    reply: Type.Array(ListedRun),
    async run({ runs }, asked) {
      const found = await runs.list({
        account: asked.account ?? null,
        agent: asked.agent ?? null,
        status: asked.status ?? null,
        limit: asked.limit ?? LIMIT,
      });
      return found.map((row) => show(ListedRun, row));
    },
  }),
  show: defineOperation({
    name: "runs show",
    method: "GET",
    path: "/runs/:id",
    summary: "Show a run.",
    input: input({ id: idOf("run") }),
    reply: Run,
    run: async ({ runs }, asked) => show(Run, await runs.require(asked.id)),
  }),
  /** A caller follows a run by asking for the steps after the last one that it has. */
  listSteps: defineOperation({
    name: "runs follow",
    method: "GET",
    path: "/runs/:id/steps",
    summary: "List a run's steps from the oldest, at most 100; ask again after the last one.",
    input: input({
      id: idOf("run"),
      after: Type.Optional(
        Type.Integer({ minimum: 0, description: "Number of the last known step; 0 without it." }),
      ),
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: STEPS_MAX, description: "Maximum steps." }),
      ),
    }),
    reply: Type.Array(Step),
    async run({ runs }, asked) {
      const steps = await runs.listSteps(asked.id, asked.after ?? 0, asked.limit);
      return steps.map((step) => show(Step, step as never));
    },
  }),
};
