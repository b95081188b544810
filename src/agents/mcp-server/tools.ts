// The tools that clients of the Model Context Protocol find: agents, and reads of their runs.
import { type Static, type TObject, Type } from "@sinclair/typebox";
import { findFieldError, Uuid } from "../../http/index.ts";
import { ApiError } from "../../platform/errors.ts";
import { FilledText, oneOf } from "../../platform/schema.ts";
import { STATUSES as APPROVAL_STATUSES } from "../approvals/approval.ts";
import type { AgentRow } from "../definitions/agent.ts";
import { MESSAGE_CHARACTERS_MAX } from "../runs/question.ts";
import { STATUSES } from "../runs/transitions.ts";
import { UsageQuery } from "../usage/routes.ts";
import { type McpClientForm, McpFault, NEWEST_HANDSHAKE } from "./protocol.ts";
import { textResult } from "./views.ts";

const strict = { additionalProperties: false };
const LIMIT_MAX = 50;
/** Clients give a request up after 60 seconds by default. */
const WAIT_SECONDS_MAX = 50;

export const AgentArguments = Type.Object(
  {
    message: FilledText("What is asked, in 1 to 100,000 characters.", MESSAGE_CHARACTERS_MAX),
    thread_id: Type.Optional(
      Uuid("The thread of an earlier call, which this one continues; left out: a new one."),
    ),
  },
  strict,
);

const run_id = Uuid("The run.");
const limit = Type.Optional(
  Type.Integer({ description: "At most so many; 20.", minimum: 1, maximum: LIMIT_MAX }),
);

/** Slugs of agents have no underscore, so that no agent can have one of these names. */
export const READS = {
  get_run: {
    description: "Reads a run of an agent: where it stands, its answer, what it waits for.",
    input: Type.Object(
      {
        run_id,
        wait_seconds: Type.Optional(
          Type.Integer({
            description: "Waits so long for its end.",
            minimum: 0,
            maximum: WAIT_SECONDS_MAX,
          }),
        ),
      },
      strict,
    ),
  },
  list_runs: {
    description: "Lists runs of your agents, newest first.",
    input: Type.Object(
      { status: Type.Optional(oneOf(STATUSES, "Only runs in this status.")), limit },
      strict,
    ),
  },
  cancel_run: {
    description: "Cancels a run: it ends at its next step.",
    input: Type.Object({ run_id }, strict),
  },
  list_approvals: {
    description:
      "Lists calls of tools that wait for a person, or did; only a person decides, at `url`.",
    input: Type.Object(
      { status: Type.Optional(oneOf(APPROVAL_STATUSES, "In this status; pending.")), limit },
      strict,
    ),
  },
  get_costs: {
    description: "Sums what finished runs of your agents cost and used, by day or agent.",
    input: Type.Object(UsageQuery.properties, strict),
  },
} as const;
export type ReadName = keyof typeof READS;

export function isRead(name: string): name is ReadName {
  return Object.hasOwn(READS, name);
}

/** The costs need the scope in the grace period, too (agents.authentication.3). */
export function listReads(scopes: readonly string[]): ReadName[] {
  const names = Object.keys(READS) as ReadName[];
  return names.filter((name) => name !== "get_costs" || scopes.includes("agents"));
}

export function describeRead(name: ReadName) {
  const { description, input } = READS[name];
  const isChange = name === "cancel_run";
  return {
    name,
    description,
    inputSchema: input,
    annotations: { readOnlyHint: !isChange, openWorldHint: false },
  };
}

export function describeAgent(agent: AgentRow, { revision }: McpClientForm) {
  const { slug, name, description } = agent;
  return {
    name: slug,
    title: name,
    description: description ?? `Asks the agent "${name}", which may call tools of its own.`,
    inputSchema: AgentArguments,
    annotations: { readOnlyHint: false, openWorldHint: true },
    ...(revision === NEWEST_HANDSHAKE && { execution: { taskSupport: "optional" } }),
  };
}

class WrongArguments extends Error {}

/** Models read what is wrong in the result, and call again. */
export function readArguments<S extends TObject>(schema: S, given: unknown = {}): Static<S> {
  const fault = findFieldError(schema, given, "");
  if (fault) throw new WrongArguments(fault.message);
  return given as Static<S>;
}

export function requireText(value: unknown, name: string): string {
  if (typeof value === "string" && value.length <= 256) return value;
  throw new McpFault("params", `\`${name}\` must be a text of at most 256 characters.`);
}

/** A refusal as a result, which the model reads; throws what will pass, for the status. */
export function errorResultOf(failure: unknown) {
  if (failure instanceof WrongArguments) return refusal("invalid_arguments", failure.message);
  const isLasting = failure instanceof ApiError && ![429, 503].includes(failure.status);
  if (isLasting) return refusal(failure.code, failure.message);
  throw failure;
}

const refusal = (code: string, message: string) =>
  textResult(`${code}: ${message}`, { error: { code, message } }, true);
