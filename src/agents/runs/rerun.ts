// Reruns: a run again, with another version, from the results that the first one recorded.
import { type Static, Type } from "@sinclair/typebox";
import type { Bound } from "../../database/index.ts";
import { apiError } from "../../platform/errors.ts";
import type { Ids } from "../../platform/ids.ts";
import { FilledText, maybe, oneOf } from "../../platform/schema.ts";
import { COUNT_MAX } from "../definitions/version.ts";
import { MESSAGE_CHARACTERS_MAX } from "./question.ts";
import { RERUN_TOOLS, type RunRow } from "./run.ts";
import type { RunRequest } from "./start.ts";
import type { runStore } from "./store/index.ts";
import { FINAL } from "./transitions.ts";

export const RerunRun = Type.Object(
  {
    version: Type.Optional(
      maybe(
        Type.Integer({
          description: "Version of the agent, from 1; null or left out: the current one.",
          minimum: 1,
          maximum: COUNT_MAX,
        }),
      ),
    ),
    from_round: Type.Optional(
      maybe(
        Type.Integer({
          description:
            "First round in which the model is asked, 1 to the rounds of the run: earlier ones " +
            "are taken from the record. Null or left out: 1.",
          minimum: 1,
          maximum: COUNT_MAX,
        }),
      ),
    ),
    tools: Type.Optional(
      Type.Unsafe<(typeof RERUN_TOOLS)[number]>({
        ...oneOf(
          RERUN_TOOLS,
          "`recorded`: calls are answered from the record, and none is made; `live`: they are " +
            "made, with their effects and approvals.",
        ),
        default: "recorded",
      }),
    ),
    input: Type.Optional(
      maybe(
        Type.Object(
          {
            message: FilledText(
              "What is asked, in 1 to 100,000 characters.",
              MESSAGE_CHARACTERS_MAX,
            ),
          },
          {
            additionalProperties: false,
            description: "Replaces the message; null or left out: that of the run.",
          },
        ),
      ),
    ),
  },
  {
    $id: "RerunRun",
    additionalProperties: false,
    description: "How a run is repeated.",
    examples: [{}, { version: 2, tools: "live", from_round: 2 }],
  },
);
export type RerunRun = Static<typeof RerunRun>;

interface RerunDeps {
  runs: Pick<Bound<typeof runStore>, "loadHistory" | "listImages">;
  ids: Pick<Ids, "uuid">;
}

/** Reads what a run was asked, with the images that are stored. */
export async function readInput(
  runs: Pick<RerunDeps["runs"], "listImages">,
  { id, input }: Pick<RunRow, "id" | "input">,
): Promise<RunRequest> {
  return input.content ? { ...input, images: await runs.listImages(id) } : input;
}

/** Makes the start of a rerun, whose thread begins with what the run found in its own. */
export async function planRerun(
  { runs, ids }: RerunDeps,
  run: RunRow,
  { version, from_round, tools = "recorded", input }: RerunRun,
): Promise<RunRequest> {
  if (!FINAL.has(run.status)) throw apiError("run_not_finished");
  const roundsMax = Math.max(1, run.usage.rounds);
  if ((from_round ?? 1) > roundsMax) {
    const message = `\`from_round\` must be at most ${roundsMax}: the run has no more rounds.`;
    throw apiError("invalid_request", { param: "from_round", message });
  }
  const found = await runs.loadHistory(run);
  const messages = found?.messages.map((message) => ({ ...message, id: ids.uuid() })) ?? [];
  const { content: _, ...own } = run.input;
  return {
    ...(input ? { ...own, message: input.message.toWellFormed() } : await readInput(runs, run)),
    version: version ?? undefined,
    rerun: {
      rerun_of: run.id,
      rerun_tools: tools,
      rerun_from_round: (from_round ?? 1) === 1 ? null : from_round!,
      history: found ? { ...found, messages } : null,
    },
  };
}
