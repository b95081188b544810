// An evaluation: ended runs of an agent, repeated on a version and checked.
import { type ObjectOptions, type Static, Type } from "@sinclair/typebox";
import { maybe, oneOf, Resource, Row, Timestamp } from "../../platform/schema.ts";
import { COUNT_MAX } from "../definitions/version.ts";
import { RunOutcome, Sameness } from "../runs/outcome.ts";
import { RERUN_TOOLS } from "../runs/run.ts";
import { FINAL_STATUSES } from "../runs/transitions.ts";

/** Maximum runs of an evaluation. */
export const RUNS_MAX = 500;
export const CHECKS_MAX = 20;
const PATTERN_CHARACTERS_MAX = 1_000;

const ceiling = (what: string) =>
  Type.Optional(Type.Integer({ description: what, minimum: 0, maximum: COUNT_MAX }));

const callPattern = (description: string, options: ObjectOptions) =>
  Type.Optional(
    Type.Object(
      {
        tool: Type.String({ description: "The tool's name.", minLength: 1, maxLength: 64 }),
        arguments: Type.Optional(
          Type.Unsafe<Record<string, unknown>>(
            Type.Object(
              {},
              {
                description:
                  "Fields that the arguments have with exactly these values, among others. " +
                  "Left out: any arguments.",
              },
            ),
          ),
        ),
      },
      { ...options, description },
    ),
  );

const makeCheck = (options: ObjectOptions) =>
  Type.Object(
    {
      end: Type.Optional(oneOf(FINAL_STATUSES, "Status in which the run ends.")),
      called: callPattern("A call that the run makes at least once.", options),
      not_called: callPattern("A call that the run never makes.", options),
      output_pattern: Type.Optional(
        Type.String({
          description: "RE2 pattern that a part of the last text matches.",
          minLength: 1,
          maxLength: PATTERN_CHARACTERS_MAX,
        }),
      ),
      output_schema: Type.Optional(
        Type.Unsafe<Record<string, unknown>>(
          Type.Object(
            {},
            {
              description:
                "JSON Schema 2020-12 of type `object`, as for arguments of tools, that the last " +
                "text fits as JSON.",
            },
          ),
        ),
      ),
      max_rounds: ceiling("Most model rounds."),
      max_total_tokens: ceiling("Most tokens read and written."),
      max_cost_sar: Type.Optional(
        Type.String({
          description: 'Highest cost in SAR, such as "0.50"; an unknown cost fails.',
          maxLength: 24,
        }),
      ),
      max_seconds: Type.Optional(
        Type.Number({
          description: "Most seconds of work, without waiting for people.",
          minimum: 0,
          maximum: COUNT_MAX,
        }),
      ),
    },
    {
      ...options,
      description: "A check of each run: all of its fields must hold, at least one of them given.",
    },
  );

/** Refuses unknown fields, as all input of the API does. */
export const Check = makeCheck({ additionalProperties: false });
export type Check = Static<typeof Check>;
/** Replies may gain fields. */
const ShownCheck = makeCheck({});

const FailedCheck = Type.Object(
  {
    check: Type.Integer({ description: "Place of the check in the list, from 0." }),
    message: Type.String({ description: "A sentence for people." }),
  },
  { description: "A check that does not hold." },
);

/** Result of one run, as it is stored. */
export const RunAssessment = Type.Object({
  error: maybe(
    Type.Object(
      {
        code: Type.String({ description: "For programs." }),
        message: Type.String({ description: "A sentence for people." }),
      },
      { description: "Why the run was not repeated; null: it was." },
    ),
  ),
  failures: Type.Array(FailedCheck, { description: "Checks that do not hold." }),
  before: maybe({ ...RunOutcome, description: "The repeated run; null: it was deleted." }),
  after: maybe({ ...RunOutcome, description: "The rerun; null: there is none." }),
  same: maybe({ ...Sameness, description: "What is the same in both; null: one is missing." }),
});
export type RunAssessment = Static<typeof RunAssessment>;

const { properties: assessment } = RunAssessment;
const EvaluatedRun = Type.Object(
  {
    run_id: Type.String({ format: "uuid", description: "The run that is repeated." }),
    rerun_id: maybe(Type.String({ format: "uuid", description: "Its rerun; null: none yet." })),
    passed: maybe(
      Type.Boolean({ description: "true: it was repeated and every check holds; null: not yet." }),
    ),
    ...assessment,
  },
  { description: "A run of the evaluation." },
);

const EVALUATION_STATUSES = ["running", "finished", "cancelled"] as const;

const FIELDS = {
  id: Type.String({ format: "uuid", description: "Identifier." }),
  agent_id: Type.String({ format: "uuid", description: "The agent." }),
  version: Type.Integer({ description: "The version on which runs are repeated." }),
  tools: oneOf(RERUN_TOOLS, "`recorded`: calls are answered from the records; `live`: made."),
  status: oneOf(EVALUATION_STATUSES, "`cancelled`: no further run is repeated."),
  checks: Type.Array(ShownCheck, { description: "What each run is checked by." }),
  total: Type.Integer({ description: "Runs of the evaluation, 1 to 500." }),
  created_at: Timestamp("When it was started."),
  finished_at: maybe(Timestamp("When its last run was assessed; null: it is under way.")),
};

const done = Type.Integer({ description: "Runs that are assessed." });
const { checks: _, ...listed } = FIELDS;

export const ListedEvaluation = Resource(
  "ListedEvaluation",
  { ...listed, done },
  "An evaluation without its checks and results.",
);
export type ListedEvaluation = Static<typeof ListedEvaluation>;
export const ListedEvaluationRow = Row(ListedEvaluation, {});

export const Evaluation = Resource(
  "Evaluation",
  {
    ...FIELDS,
    done,
    passed: Type.Integer({ description: "Runs that were repeated and pass every check." }),
    results: Type.Array(EvaluatedRun, { description: "Every run, the oldest first." }),
  },
  "Ended runs of an agent, repeated on a version and checked.",
);
export type Evaluation = Static<typeof Evaluation>;

export const EvaluationRow = Row(Type.Object(FIELDS), {
  account_id: Type.String(),
  started_by_key_id: Type.String(),
  started_by_operator: maybe(Type.String()),
  /** Bytes that it counts for its account. */
  stored_bytes: Type.Integer(),
});
export type EvaluationRow = Static<typeof EvaluationRow>;

export const EvaluatedRunRow = Type.Object({
  evaluation_id: Type.String(),
  position: Type.Integer(),
  run_id: Type.String(),
  rerun_id: maybe(Type.String()),
  assessment: maybe(RunAssessment),
});
export type EvaluatedRunRow = Static<typeof EvaluatedRunRow>;

const UNASSESSED = { error: null, failures: [], before: null, after: null, same: null };

export function describeEvaluation(
  row: EvaluationRow,
  runs: readonly EvaluatedRunRow[],
): Evaluation {
  const results = runs.map(({ run_id, rerun_id, assessment }) => {
    const passed = assessment && assessment.error === null && assessment.failures.length === 0;
    return { run_id, rerun_id, passed, ...(assessment ?? UNASSESSED) };
  });
  return {
    ...row,
    done: results.filter(({ passed }) => passed !== null).length,
    passed: results.filter(({ passed }) => passed).length,
    results,
  };
}
