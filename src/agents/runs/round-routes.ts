// Routes of rounds: a list of what each took, and one with all that its model was sent.
import { Type } from "@sinclair/typebox";
import { IdParams, type Router } from "../../http/index.ts";
import { apiError } from "../../platform/errors.ts";
import { show } from "../../platform/schema.ts";
import type { FindVersion } from "../definitions/version-cache.ts";
import type { RunsDeps } from "./deps.ts";
import { createRoundFinder, RoundDetail, RunRound } from "./round.ts";
import { createRoundReader } from "./round-reader.ts";

const STEPS_AT_ONCE = 100;
const ROUND_MAX = 2_147_483_647;

const RoundList = Type.Object(
  { data: Type.Array(RunRound, { description: "Rounds in their order, 200 at most." }) },
  { $id: "RunRoundList", description: "Rounds of a run." },
);
const RoundParams = Type.Object({
  ...IdParams.properties,
  round: Type.Integer({ minimum: 1, maximum: ROUND_MAX, description: "Number of the round." }),
});

export interface RoundRoutesDeps extends RunsDeps {
  findVersion: FindVersion;
}

export function openRoundRoutes(router: Router, deps: RoundRoutesDeps): void {
  const { runs, findRun, findVersion, database, internal } = deps;
  router.get(
    "/v1/runs/:id/rounds",
    {
      summary: "List the rounds of a run",
      description: "Those with a reply: models, times, tokens and cost of each.",
      scope: "agents",
      params: IdParams,
      replies: { 200: { description: "The rounds.", schema: RoundList } },
      refusals: ["run_not_found"],
    },
    async ({ caller, params }) => {
      const { id, agent_id, version, last_seq } = await findRun(caller, params.id);
      const found = await findVersion(agent_id, version);
      if (!found) return [200, { data: [] }];
      const find = createRoundFinder(found);
      const rounds: object[] = [];
      for (let seq = 0; seq < last_seq; ) {
        const steps = await runs.listSteps(id, seq, STEPS_AT_ONCE);
        // Retention may have deleted them meanwhile.
        if (steps.length === 0) break;
        for (const step of steps) {
          const round = find(step);
          if (round) rounds.push(show(RunRound, round));
        }
        seq = steps.at(-1)!.seq;
      }
      return [200, { data: rounds }];
    },
  );
  const readRound = createRoundReader(database, (name) => internal.chat.find(name));
  router.get(
    "/v1/runs/:id/rounds/:round",
    {
      summary: "Explain a round of a run",
      description:
        "With the messages as they were sent, rebuilt from the thread and the steps: what was " +
        "cleared or summarised is shown so. The operator's prompt of a model is not among them.",
      scope: "agents",
      params: RoundParams,
      replies: { 200: { description: "The round.", schema: RoundDetail } },
      refusals: ["run_not_found", "round_not_found"],
    },
    async ({ caller, params }) => {
      const found = await readRound(await findRun(caller, params.id), params.round);
      if (!found) throw apiError("round_not_found");
      return [200, show(RoundDetail, found)];
    },
  );
}
