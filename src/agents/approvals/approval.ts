// An approval: a tool call that waits for a person's decision.
import { type Static, Type } from "@sinclair/typebox";
import { writeCanonical } from "../../platform/json.ts";
import { maybe, oneOf, Resource, Row, Timestamp } from "../../platform/schema.ts";
import { RISKS } from "../tools/contract.ts";

export const STATUSES = ["pending", "approved", "rejected", "expired", "closed"] as const;
/** Reasons to ask: rules of the policy, or a call of unknown outcome. */
export const WHY = [
  "irreversible",
  "write",
  "listed",
  "external_content",
  "outcome_unknown",
] as const;

export const REASON_CHARACTERS_MAX = 1_000;
/** A rejection whose reason begins so is what a person says in place of the result. */
export const ANSWER_BEGIN = "In place of the result, a person answers: ";
export const ANSWER_CHARACTERS_MAX = REASON_CHARACTERS_MAX - ANSWER_BEGIN.length;

const ExternalSource = Type.Object(
  {
    seq: Type.Integer({ description: "The step of the run with the result." }),
    tool: Type.String({ description: "The tool that brought it." }),
    url: Type.Optional(
      maybe(
        Type.String({
          description: "Where it lay; null: several places, none known, or beside many long ones.",
        }),
      ),
    ),
  },
  { description: "A result that brought content from outside." },
);

const DecidedBy = Type.Object(
  {
    kind: oneOf(["key", "operator"], "`operator`: a person who runs the platform."),
    id: Type.String({ description: "The key's id; of an operator the person's name." }),
    person: Type.Optional(
      Type.String({
        description: "Whom the operator made a link for, by which it was decided; left out: none.",
      }),
    ),
  },
  { description: "Who decided; null: undecided, expired or closed." },
);

/** agents.does.approval, agents.resources.approval */
export const Approval = Resource(
  "Approval",
  {
    id: Type.String({ format: "uuid", description: "Identifier." }),
    run_id: Type.String({ format: "uuid", description: "The run whose call it is." }),
    agent_id: Type.String({ format: "uuid", description: "The run's agent." }),
    thread_id: Type.String({ format: "uuid", description: "The run's thread." }),
    tool_call_id: Type.String({
      description: "The call, as in the run's `tool_call` and `tool_result` steps.",
    }),
    tool: Type.String({ description: "The name of the tool that is called." }),
    revision: Type.Integer({ description: "The tool's revision that is called, from 1." }),
    risk: oneOf(RISKS, "The risk level of that revision."),
    arguments: Type.Unknown({
      description: "What the tool is sent when it is approved, and nothing else: a JSON object.",
    }),
    arguments_sha256: Type.String({
      description: "SHA-256 of the arguments' RFC 8785 text: 64 hexadecimal digits.",
    }),
    why: Type.Array(
      oneOf(
        WHY,
        "`irreversible`: its risk level · `write`: the policy lets no write run unattended · " +
          "`listed`: the policy's `require_approval` names it · `external_content`: a write " +
          "after content from outside was read · `outcome_unknown`: it was sent, and nobody " +
          "knows whether it was done; approving sends it again.",
      ),
      { description: "Every rule that asks for a person; at least one." },
    ),
    external_sources: Type.Array(ExternalSource, {
      description:
        "What the run itself had read from outside before it asked, oldest first, at most 100. " +
        "Empty beside the reason `external_content`: it was read earlier on the thread.",
    }),
    status: oneOf(
      STATUSES,
      "`pending`: waits for a decision · `approved` · `rejected` · `expired`: nobody decided " +
        "by `expires_at` · `closed`: its run ended or was cancelled first. All but `pending` " +
        "are final.",
    ),
    reason: maybe(
      Type.String({
        description: "What was sent with the decision, at most 1,000 characters; null: nothing.",
      }),
    ),
    decided_by: maybe(DecidedBy),
    requested_at: Timestamp("When it was requested."),
    expires_at: Timestamp(
      "End of the time for a decision: `approval_ttl_seconds` after its creation.",
    ),
    decided_at: maybe(
      Timestamp("When it was decided, expired or was closed; null: it is pending."),
    ),
  },
  "A tool call that waits for a person's decision, or had one. Its run waits with it.",
);
export type Approval = Static<typeof Approval>;
export type ApprovalStatus = Approval["status"];

export const ApprovalRow = Row(Approval, { account_id: Type.String() });
export type ApprovalRow = Static<typeof ApprovalRow>;

/** Hashes the RFC 8785 text, which is what a tool is sent. */
export function hashArguments(value: unknown): string {
  return Bun.SHA256.hash(writeCanonical(value), "hex") as string;
}
