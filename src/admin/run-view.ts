// A run and its parts as operators see them: with names, times, and the messages of a round.
import { type Static, Type } from "@sinclair/typebox";
import {
  createAgentQueries,
  createRoundReader,
  createRunQueries,
  measureRun,
  RoundContext,
  Run,
  RunRound,
  RunRow,
  Step,
  type StepRow,
} from "../agents/index.ts";
import { createModelCheck } from "../gateway/index.ts";
import { maybe, Resource, show, Timestamp } from "../platform/schema.ts";
import { createTriggerQueries } from "../triggers/index.ts";
import type { AccountDirectory } from "./accounts.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError } from "./errors.ts";

const span = (description: string) => Type.Integer({ minimum: 0, description });

/** Milliseconds of a run. */
export const SPANS = {
  queued_ms: span("Milliseconds from its acceptance to its begin, or until now."),
  worked_ms: span("Milliseconds of work, pauses before retries included."),
  waited_ms: span("Milliseconds in which it waited for people, or after a crash."),
};

const Live = Type.Object({
  round: Type.Integer({ description: "Number of the round." }),
  text: Type.String({ description: "What the model has written by now, without reasoning." }),
  tool_calls: Type.Array(
    Type.Object({
      name: Type.String({ description: "The tool." }),
      arguments: Type.String({ description: "JSON text, perhaps not whole." }),
    }),
    { description: "Calls that it has written by now." },
  ),
});

/** A run with what only operators see. */
export const OperatorRun = Type.Object({
  ...Run.properties,
  started_by_operator: RunRow.properties.started_by_operator,
  account: Type.String({ description: "The owner's name." }),
  agent_name: maybe(Type.String({ description: "Name of the agent; null: it was deleted." })),
  started_by: maybe(
    Type.String({
      description: "Name of the trigger, operator or key that started it; null: it has none.",
    }),
  ),
  model: Type.String({ description: "Model that it asks." }),
  budgets: RunRow.properties.budgets,
  live: maybe({ ...Live, description: "The reply under way; null: no model is asked now." }),
  ...SPANS,
});

/** A step with what only operators see. */
export const OperatorStep = Resource("OperatorStep", {
  ...Step.properties,
  started_at: maybe(
    Timestamp("When its model or tool was called; null: it was no call, or was not made."),
  ),
  ended_at: maybe(Timestamp("When the model or tool had answered; null likewise.")),
  waited_ms: maybe(span("Milliseconds that a model call waited for a place or a server.")),
  first_token_ms: maybe(
    span("Milliseconds until the first piece of a model's reply; null: unknown, or no reply."),
  ),
  replica: maybe(Type.String({ description: "Host and port of the model server; null: none." })),
  attempts: maybe(Type.Integer({ description: "Requests to model servers; null: unknown." })),
});

export function showStep(step: StepRow): Record<string, unknown> {
  const { started_at, ended_at, waited_ms, first_token_ms, replica, attempts } =
    step.execution ?? {};
  const { duration_ms = null } = step.data as { duration_ms?: number | null };
  // Steps of earlier versions have no times but that of their writing.
  const isTimed = started_at !== undefined || duration_ms !== null;
  const end = ended_at ?? step.created_at;
  return show(OperatorStep, {
    ...step,
    started_at: started_at ?? (duration_ms === null ? null : end - duration_ms),
    ended_at: isTimed ? end : null,
    waited_ms: waited_ms ?? null,
    first_token_ms: first_token_ms ?? null,
    replica: replica ?? null,
    attempts: attempts ?? null,
  } as never);
}

const CONTENT_CHARACTERS_MAX = 65_536;
/** Characters of all messages of a reply. */
const ROUND_CHARACTERS_MAX = 1_048_576;

const SeenCall = Type.Object({
  id: Type.String({ description: "Identifier of the call." }),
  name: Type.String({ description: "The tool." }),
  arguments: Type.String({ description: "First 65,536 characters of the JSON text." }),
});

const SeenMessage = Type.Object({
  role: Type.String({ description: "`system`, `user`, `assistant` or `tool`." }),
  content: Type.String({
    description:
      "First 65,536 characters of the text, in which `[An image.]` stands for an image. Of all " +
      "messages 1,048,576 characters are sent: later ones may be cut to nothing.",
  }),
  characters: Type.Integer({ description: "Characters of the whole text." }),
  tool_calls: Type.Array(SeenCall, { description: "Calls that the message asked for." }),
  tool_call_id: maybe(Type.String({ description: "Call that it answers; null: none." })),
  tool: maybe(Type.String({ description: "Tool of that call; null: none, or of another run." })),
  round: maybe(
    Type.Integer({ description: "Round of the run that wrote it; null: none of them did." }),
  ),
  external: Type.Boolean({ description: "true: delimited as content from outside." }),
  tokens: Type.Integer({ description: "Tokens, estimated." }),
});

export const OperatorRound = Type.Object({
  ...RunRound.properties,
  context: RoundContext,
  messages: Type.Array(SeenMessage, { description: "In the order in which they were sent." }),
  tools: Type.Array(Type.String(), { description: "Names of the tools that it was shown." }),
  is_exact: Type.Boolean({
    description:
      "true: the messages have the number and the characters of text that were sent; images " +
      "are not compared. false: settings or summaries have changed since, or an earlier " +
      "version of the program sent them.",
  }),
});

export function createRunView(deps: AdminDeps, directory: AccountDirectory) {
  const { database, clock, access, settings } = deps;
  const agents = createAgentQueries(database);
  const runs = createRunQueries(deps);
  const triggers = createTriggerQueries({ database, clock });
  const rebuild = createRoundReader(database, createModelCheck(database, settings).find);
  const nameStarter = async (run: RunRow): Promise<string | null> => {
    const { trigger_id, started_by_operator, started_by_key_id } = run;
    if (trigger_id !== null) return (await triggers.find(trigger_id))?.name ?? null;
    if (started_by_operator !== null) return started_by_operator;
    if (started_by_key_id === null) return null;
    return (await access.keys.findById(started_by_key_id))?.name ?? null;
  };
  return {
    async describe(run: RunRow): Promise<Static<typeof OperatorRun>> {
      const [step] = await runs.listSteps(run.id, run.last_seq - 1, 1);
      const times = { ...run, stepped_at: step?.created_at ?? null };
      const { queued, worked, waited } = measureRun(times, clock.now());
      return {
        ...run,
        account: (await directory.names()).get(run.account_id) ?? "",
        agent_name: (await agents.findName(run.agent_id, run.account_id)) ?? null,
        started_by: await nameStarter(run),
        live: run.status === "running" ? ((await deps.readLive?.(run.id)) ?? null) : null,
        ...{ queued_ms: queued, worked_ms: worked, waited_ms: waited },
      };
    },
    async readRound(run: RunRow, round: number): Promise<Static<typeof OperatorRound>> {
      const found = await rebuild(run, round);
      if (!found) throw new AdminError(`round ${round} of the run has no reply`, "not found");
      const { messages, tools } = found;
      let left = ROUND_CHARACTERS_MAX;
      const cut = (text: string) => {
        const part = text.slice(0, Math.min(left, CONTENT_CHARACTERS_MAX)).toWellFormed();
        left -= part.length;
        return part;
      };
      const shown = messages.map(({ content, tool_calls, ...message }) => ({
        ...message,
        content: cut(content),
        characters: content.length,
        tool_calls: tool_calls.map((call) => ({ ...call, arguments: cut(call.arguments) })),
      }));
      return { ...found, messages: shown, tools: tools.map(({ name }) => name) };
    },
  };
}
