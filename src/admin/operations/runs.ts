// Operations on runs of every account.
import { Type } from "@sinclair/typebox";
import {
  MESSAGE_CHARACTERS_MAX,
  RERUN_TOOLS,
  RerunRun,
  RunComparison,
  SentImages,
  SentMetadata,
  STAGES,
  STATUSES,
  TRIGGER_KINDS,
  validateMetadata,
} from "../../agents/index.ts";
import { FilledText, oneOf, show, withRules } from "../../platform/schema.ts";
import type { Admin } from "../admin.ts";
import { defineOperation } from "../operation.ts";
import { OperatorRound, OperatorRun, OperatorStep, showStep } from "../run-view.ts";
import { ListedRun, RunCount, type TypedRunSearch } from "../runs.ts";
import { account, idOf, input, LIMIT, limit, maybeText } from "./fields.ts";

const STEPS_MAX = 1_000;

const CancelledRun = Type.Object({
  ...OperatorRun.properties,
  is_changed: Type.Boolean({ description: "False: it had ended, or been asked to stop." }),
});

/** State in the audit log, which outlives the texts of an account. */
const { id, agent_id, version, status } = OperatorRun.properties;
const { cancel_requested, started_by_operator } = OperatorRun.properties;
const AuditedRun = Type.Object({
  ...{ id, agent_id, version, status },
  ...{ cancel_requested, started_by_operator },
});

const audit = {
  async read({ runs }: Admin, found: string) {
    const run = await runs.find(found);
    return run && show(AuditedRun, run);
  },
};

const SEARCH_CHARACTERS_MAX = 200;

const metadataOf = (description: string) =>
  Type.Optional(Type.Unsafe<Record<string, string>>({ ...SentMetadata, description }));
const rules = { metadata: ({ metadata }: { metadata?: object }) => validateMetadata(metadata) };

const search = {
  account,
  agent: Type.Optional(idOf("agent")),
  trigger_kind: Type.Optional(oneOf(TRIGGER_KINDS, "What started the runs.")),
  since: maybeText(
    "Earliest acceptance, such as 2027-01-05, or a duration before now, such as 1h.",
  ),
  text: maybeText(
    "A part of the id, or of the first 4,096 characters of the input; case is ignored.",
    SEARCH_CHARACTERS_MAX,
  ),
  metadata: metadataOf(
    "Texts that the metadata of the runs has, each by its name: `metadata[ticket]=A-17`.",
  ),
};

const readTyped = (asked: Partial<TypedRunSearch>): TypedRunSearch => ({
  account: asked.account ?? null,
  agent: asked.agent ?? null,
  status: asked.status ?? null,
  trigger_kind: asked.trigger_kind ?? null,
  since: asked.since ?? null,
  text: asked.text ?? null,
  metadata: asked.metadata ?? null,
});

export const runOperations = {
  list: defineOperation({
    name: "runs list",
    method: "GET",
    path: "/runs",
    summary: "List the newest runs.",
    input: withRules(
      input({
        ...search,
        status: Type.Optional(oneOf(STATUSES, "Status of the runs.")),
        stage: Type.Optional(
          oneOf(STAGES, "`active`: runs that have not ended; `ended`: the others."),
        ),
        before: Type.Optional(idOf("run")),
        limit,
      }),
      rules,
    ),
    reply: Type.Array(ListedRun),
    async run({ runs }, asked) {
      const found = await runs.list({
        ...readTyped(asked),
        stage: asked.stage ?? null,
        before: asked.before?.toLowerCase() ?? null,
        limit: asked.limit ?? LIMIT,
      });
      return found.map((row) => show(ListedRun, row));
    },
  }),
  count: defineOperation({
    name: "runs count",
    method: "GET",
    path: "/run-counts",
    summary: "Count runs by status: those that have not ended, and those accepted since.",
    input: withRules(input(search), rules),
    reply: RunCount,
    async run({ runs }, asked) {
      const { counts, isPartial } = await runs.count(readTyped(asked));
      return { counts, is_partial: isPartial };
    },
  }),
  show: defineOperation({
    name: "runs show",
    method: "GET",
    path: "/runs/:id",
    summary: "Show a run.",
    input: input({ id: idOf("run") }),
    reply: OperatorRun,
    async run({ runs }, asked) {
      return show(OperatorRun, await runs.describe(await runs.require(asked.id)));
    },
  }),
  start: defineOperation({
    name: "runs start",
    method: "POST",
    path: "/agents/:agent/runs",
    summary: "Start a run of an agent's current version, which acts for a key of its account.",
    input: withRules(
      input({
        agent: idOf("agent"),
        message: FilledText("Message of the run.", MESSAGE_CHARACTERS_MAX),
        images: Type.Optional(SentImages),
        metadata: metadataOf("Texts that are kept with the run, each by its name."),
        key: Type.Optional(idOf("key")),
      }),
      rules,
    ),
    reply: OperatorRun,
    audit: {
      ...audit,
      target: (_: unknown, reply?: Record<string, unknown>) => reply?.id as string | undefined,
    },
    async run({ runs }, { key = null, ...asked }, { name: operator }) {
      return show(OperatorRun, await runs.describe(await runs.start({ ...asked, key, operator })));
    },
  }),
  startAgain: defineOperation({
    name: "runs again",
    method: "POST",
    path: "/runs/:id/again",
    summary: "Start a run with the same input for the same key, or repeat one from its record.",
    input: input({
      id: idOf("run"),
      key: Type.Optional(idOf("key")),
      version: RerunRun.properties.version,
      from_round: RerunRun.properties.from_round,
      tools: Type.Optional(
        oneOf(
          RERUN_TOOLS,
          "`recorded`: calls are answered from the record; `live`: they are made. Without this " +
            "and the two above it is a new run that has nothing from the record.",
        ),
      ),
    }),
    reply: OperatorRun,
    audit: {
      ...audit,
      target: (_: unknown, reply?: Record<string, unknown>) => reply?.id as string | undefined,
    },
    async run({ runs }, { id: again, key = null, ...asked }, { name: operator }) {
      const isRerun = Object.keys(asked).length > 0;
      const how = isRerun ? { ...asked, tools: asked.tools ?? ("live" as const) } : null;
      const run = await runs.startAgain(again, how, { key, operator });
      return show(OperatorRun, await runs.describe(run));
    },
  }),
  compare: defineOperation({
    name: "runs compare",
    method: "GET",
    path: "/runs/:id/comparison",
    summary: "Show two runs side by side: ends, calls, texts, tokens, cost and time.",
    input: input({ id: idOf("run"), other: idOf("run") }),
    reply: RunComparison,
    run: ({ runs }, asked) => runs.compare(asked.id, asked.other),
  }),
  cancel: defineOperation({
    name: "runs cancel",
    method: "POST",
    path: "/runs/:id/cancel",
    summary: "Cancel a run: at once where it is queued or waits, else at its next step.",
    input: input({ id: idOf("run") }),
    reply: CancelledRun,
    audit: { ...audit, target: (asked) => asked.id },
    async run({ runs }, asked) {
      const { run, isChanged } = await runs.cancel(asked.id);
      return { ...show(OperatorRun, await runs.describe(run)), is_changed: isChanged };
    },
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
    reply: Type.Array(OperatorStep),
    async run({ runs }, asked) {
      const steps = await runs.listSteps(asked.id, asked.after ?? 0, asked.limit);
      return steps.map(showStep);
    },
  }),
  showRound: defineOperation({
    name: "runs round",
    method: "GET",
    path: "/runs/:id/rounds/:round",
    summary: "Show the messages that the model saw in a round of a run.",
    input: input({
      id: idOf("run"),
      round: Type.Integer({ minimum: 1, description: "Number of the round, from 1." }),
    }),
    reply: OperatorRound,
    async run({ runs }, asked) {
      const round = await runs.readRound(asked.id, asked.round);
      return show(OperatorRound, round) as unknown as typeof round;
    },
  }),
};
