// An approval: a tool call that waits for a person's decision.
import { type Static, Type } from "@sinclair/typebox";
import { writeCanonical } from "../../platform/canonical.ts";
import { maybe, oneOf, Resource, Row, Timestamp } from "../../platform/shape.ts";
import { RISKS } from "../tools/contract.ts";

export const STATUSES = ["pending", "approved", "rejected", "expired", "closed"] as const;
/** The rules that ask, and a call of which nobody knows whether it was sent. */
export const WHY = [
  "irreversible",
  "write",
  "listed",
  "external_content",
  "outcome_unknown",
] as const;

/** agents.does.approval, agents.resources.approval */
export const Approval = Resource(
  "Approval",
  {
    id: Type.String({ format: "uuid", description: "Identifier." }),
    run_id: Type.String({ format: "uuid", description: "The run that waits." }),
    agent_id: Type.String({ format: "uuid", description: "Its agent." }),
    thread_id: Type.String({ format: "uuid", description: "Its thread." }),
    tool_call_id: Type.String({ description: "The call that waits." }),
    tool: Type.String({ description: "The tool's name." }),
    revision: Type.Integer({ description: "The tool's revision." }),
    risk: oneOf(RISKS, "The tool's risk level."),
    arguments: Type.Unknown({ description: "What the tool will be sent, and nothing else." }),
    arguments_sha256: Type.String({
      description: "SHA-256 in hexadecimal of the arguments' RFC 8785 text.",
    }),
    why: Type.Array(oneOf(WHY, "A reason."), { description: "Why a person is asked." }),
    external_sources: Type.Array(
      Type.Object(
        {
          seq: Type.Integer({ description: "The step that read it." }),
          tool: Type.String({ description: "The tool that read it." }),
          url: Type.Optional(maybe(Type.String({ description: "Where it was; null: unknown." }))),
        },
        { description: "Content from outside that the run had read." },
      ),
      { description: "What the run had read from outside before it asked." },
    ),
    status: oneOf(STATUSES, "`pending` until decided, expired, or closed with its run."),
    reason: maybe(Type.String({ description: "Of the decision; null: none was given." })),
    decided_by: maybe(
      Type.Object(
        {
          kind: oneOf(["key", "operator"], "Who decided."),
          id: Type.String({ description: "The key's or the person's id." }),
        },
        { description: "Who decided; null: nobody did." },
      ),
    ),
    requested_at: Timestamp("When it was requested."),
    expires_at: Timestamp("When it times out."),
    decided_at: maybe(Timestamp("When it was decided, expired or closed; null: it is pending.")),
  },
  "A tool call that waits for a person's decision, or had one.",
);
export type Approval = Static<typeof Approval>;

export const ApprovalRow = Row(Approval, { account_id: Type.String() });
export type ApprovalRow = Static<typeof ApprovalRow>;

/** SHA-256 in hexadecimal of the RFC 8785 text, which is what a tool is sent. */
export function hashArguments(value: unknown): string {
  return Bun.SHA256.hash(writeCanonical(value), "hex") as string;
}
