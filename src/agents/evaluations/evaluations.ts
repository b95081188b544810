// Starts evaluations: which runs they repeat, on which version, and by which checks.
import { type Static, Type } from "@sinclair/typebox";
import type { Compute } from "../../compute/index.ts";
import type { Bound } from "../../database/index.ts";
import { Uuid } from "../../http/index.ts";
import { apiError } from "../../platform/errors.ts";
import { maybe, oneOf } from "../../platform/schema.ts";
import { COUNT_MAX } from "../definitions/version.ts";
import type { FindVersion } from "../definitions/version-cache.ts";
import type { AgentsDeps } from "../deps.ts";
import { RERUN_TOOLS } from "../runs/run.ts";
import type { RunStore } from "../runs/store/index.ts";
import { FINAL } from "../runs/transitions.ts";
import { validateChecks } from "./checks.ts";
import {
  CHECKS_MAX,
  Check,
  describeEvaluation,
  type Evaluation,
  type EvaluationRow,
  RUNS_MAX,
} from "./evaluation.ts";
import type { EvaluationsPart, evaluationStore } from "./store.ts";

const RUNS = 50;
/** Maximum evaluations of an account that are under way. */
const RUNNING_MAX = 3;
const CHECKS_BYTES_MAX = 65_536;

export const startFields = {
  version: Type.Optional(
    maybe(
      Type.Integer({
        description: "Version on which runs are repeated; null or left out: the current one.",
        minimum: 1,
        maximum: COUNT_MAX,
      }),
    ),
  ),
  last: Type.Optional(
    maybe(
      Type.Integer({
        description:
          "So many of the agent's newest ended runs, 1 to 500, reruns left out. Null or left " +
          "out: 50, unless `runs` names them.",
        minimum: 1,
        maximum: RUNS_MAX,
      }),
    ),
  ),
  tools: Type.Optional(
    Type.Unsafe<(typeof RERUN_TOOLS)[number]>({
      ...oneOf(RERUN_TOOLS, "As for `rerun`: `recorded` makes no call, `live` makes them."),
      default: "recorded",
    }),
  ),
  checks: Type.Optional(
    maybe(
      Type.Array(Check, {
        description: "What each run is checked by, at most 20; null or left out: nothing.",
        maxItems: CHECKS_MAX,
      }),
    ),
  ),
};

export const StartEvaluation = Type.Object(
  {
    ...startFields,
    runs: Type.Optional(
      maybe(
        Type.Array(Uuid("An ended run of the agent."), {
          description: "The runs, 1 to 500, in place of `last`.",
          minItems: 1,
          maxItems: RUNS_MAX,
        }),
      ),
    ),
  },
  {
    $id: "StartEvaluation",
    additionalProperties: false,
    description: "Which runs are repeated, and how they are checked.",
    examples: [
      {
        last: 50,
        checks: [{ end: "succeeded" }, { called: { tool: "look_up" } }, { max_rounds: 4 }],
      },
    ],
  },
);
export type StartEvaluation = Static<typeof StartEvaluation>;

export interface EvaluationStarter {
  account_id: string;
  key_id: string;
  operator: string | null;
}

interface EvaluationsDeps extends Pick<AgentsDeps, "clock" | "ids" | "settings" | "disk"> {
  runs: Pick<RunStore, "find" | "findStartable">;
  evaluations: Bound<typeof evaluationStore>;
  findVersion: FindVersion;
  compute: Compute;
}

export class Evaluations {
  readonly #deps: EvaluationsDeps;

  constructor(deps: EvaluationsDeps) {
    this.#deps = deps;
  }

  async start(
    { account_id, key_id, operator }: EvaluationStarter,
    agent_id: string,
    asked: StartEvaluation,
  ): Promise<Evaluation> {
    const { clock, ids, settings, disk, runs, evaluations, findVersion, compute } = this.#deps;
    const agent = await runs.findStartable(agent_id);
    if (agent?.account_id !== account_id) throw apiError("agent_not_found");
    const version = asked.version ?? agent.current_version;
    if (!(await findVersion(agent_id, version))) throw apiError("agent_version_not_found");
    const checks = asked.checks ?? [];
    if (Buffer.byteLength(JSON.stringify(checks)) > CHECKS_BYTES_MAX) {
      const message = `\`checks\` must be at most ${CHECKS_BYTES_MAX} bytes of JSON.`;
      throw apiError("invalid_request", { param: "checks", message });
    }
    await validateChecks(checks, account_id, compute);
    const run_ids = await this.#chooseRuns(agent_id, asked);
    disk.require();
    const row = {
      ...{ id: ids.uuid(), agent_id, version, checks, total: run_ids.length },
      tools: asked.tools ?? ("recorded" as const),
      status: "running" as const,
      ...{ created_at: clock.now(), finished_at: null, account_id },
      ...{ started_by_key_id: key_id, started_by_operator: operator },
    };
    const { stored_bytes } = settings().limits;
    await evaluations.create(row, run_ids, { running: RUNNING_MAX, stored_bytes });
    return this.find(row.id, account_id);
  }

  /** agents.authentication.6 */
  async list(agent_id: string, account_id: string, part: EvaluationsPart) {
    const { runs, evaluations } = this.#deps;
    const agent = await runs.findStartable(agent_id);
    if (agent?.account_id !== account_id) throw apiError("agent_not_found");
    return evaluations.list(account_id, agent_id, part);
  }

  async find(id: string, account_id: string | null): Promise<Evaluation> {
    return this.#describe(await this.#require(id, account_id));
  }

  async cancel(id: string, account_id: string | null): Promise<Evaluation> {
    const { evaluations, clock } = this.#deps;
    await evaluations.cancel((await this.#require(id, account_id)).id, clock.now());
    return this.find(id, account_id);
  }

  async #require(id: string, account_id: string | null): Promise<EvaluationRow> {
    const row = await this.#deps.evaluations.find(id, account_id);
    if (!row) throw apiError("evaluation_not_found");
    return row;
  }

  async #describe(row: EvaluationRow): Promise<Evaluation> {
    return describeEvaluation(row, await this.#deps.evaluations.listRuns(row.id));
  }

  async #chooseRuns(agent_id: string, { runs: named, last }: StartEvaluation): Promise<string[]> {
    const { runs, evaluations } = this.#deps;
    if (!named) {
      const found = await evaluations.listRepeatable(agent_id, last ?? RUNS);
      if (found.length > 0) return found;
      throw apiError("invalid_request", { message: "The agent has no run that has ended." });
    }
    const chosen = [...new Set(named)];
    for (const [at, id] of chosen.entries()) {
      const run = await runs.find(id, null);
      const param = `runs.${at}`;
      if (run?.agent_id !== agent_id) throw apiError("run_not_found", { param });
      if (!FINAL.has(run.status)) throw apiError("run_not_finished", { param });
    }
    return chosen;
  }
}
