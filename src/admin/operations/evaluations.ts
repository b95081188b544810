// Operations on evaluations of agents.
import { Type } from "@sinclair/typebox";
import { Evaluation, ListedEvaluation, startFields } from "../../agents/index.ts";
import { show } from "../../platform/schema.ts";
import type { Admin } from "../admin.ts";
import { defineOperation } from "../operation.ts";
import { idOf, input, LIMIT, limit, text } from "./fields.ts";

const RUNS_MAX = 500;
const ID_CHARACTERS = 36;
const id = text("Whole id of the evaluation.", ID_CHARACTERS);

/** State in the audit log: no texts of the account. */
const { agent_id, version, tools, status, total } = Evaluation.properties;
const AuditedEvaluation = Type.Object({ agent_id, version, tools, status, total });

const read = async ({ evaluations }: Admin, found: string) =>
  show(AuditedEvaluation, await evaluations.find(found));

export const evaluationOperations = {
  start: defineOperation({
    name: "agents evaluate",
    method: "POST",
    path: "/agents/:agent/evaluations",
    summary: "Repeat ended runs of an agent on a version, and check each.",
    input: input({
      agent: idOf("agent"),
      ...startFields,
      runs: Type.Optional(
        Type.Array(text("Whole id of an ended run of the agent.", ID_CHARACTERS), {
          description: "The runs, 1 to 500, in place of `last`.",
          minItems: 1,
          maxItems: RUNS_MAX,
        }),
      ),
      key: Type.Optional(idOf("key")),
    }),
    reply: Evaluation,
    audit: {
      target: (_: unknown, reply?: Record<string, unknown>) => reply?.id as string | undefined,
      read,
    },
    async run({ evaluations }, { agent, key = null, ...asked }, { name: operator }) {
      return show(Evaluation, await evaluations.start(agent, { key, operator }, asked));
    },
  }),
  list: defineOperation({
    name: "agents evaluations",
    method: "GET",
    path: "/agents/:id/evaluations",
    summary: "List an agent's newest evaluations without their results.",
    input: input({ id: idOf("agent"), limit }),
    reply: Type.Array(ListedEvaluation),
    async run({ evaluations }, asked) {
      const found = await evaluations.list(asked.id, asked.limit ?? LIMIT);
      return found.map((row) => show(ListedEvaluation, row));
    },
  }),
  show: defineOperation({
    name: "agents evaluation",
    method: "GET",
    path: "/evaluations/:id",
    summary: "Show an evaluation with the results of its runs.",
    input: input({ id }),
    reply: Evaluation,
    run: async ({ evaluations }, asked) => show(Evaluation, await evaluations.find(asked.id)),
  }),
  cancel: defineOperation({
    name: "agents evaluation --cancel",
    method: "POST",
    path: "/evaluations/:id/cancel",
    summary: "Start no further rerun of an evaluation.",
    input: input({ id }),
    reply: Evaluation,
    audit: { target: (asked) => asked.id, read },
    run: async ({ evaluations }, asked) => show(Evaluation, await evaluations.cancel(asked.id)),
  }),
};
