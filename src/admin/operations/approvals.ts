// Operations on approvals, which approvers may use too.
import { type Static, Type } from "@sinclair/typebox";
import {
  ANSWER_BEGIN,
  ANSWER_CHARACTERS_MAX,
  APPROVAL_STATUSES,
  Approval,
  type Decision,
  REASON_CHARACTERS_MAX,
} from "../../agents/index.ts";
import { oneOf, show } from "../../platform/schema.ts";
import type { Admin } from "../admin.ts";
import { ApprovalContext } from "../approval-context.ts";
import { ListedApproval } from "../approvals.ts";
import { AdminError } from "../errors.ts";
import { defineOperation, type Operation } from "../operation.ts";
import { account, idOf, input, LIMIT, limit, maybeText } from "./fields.ts";

const ShownApproval = Type.Object({ approval: Approval, ...ApprovalContext.properties });

const DecidedApproval = Type.Object({
  ...Approval.properties,
  is_changed: Type.Boolean({ description: "False: it was decided so already." }),
});

const DecisionInput = input({
  id: idOf("approval"),
  reason: maybeText("Reason to record; a rejection's is for the model.", REASON_CHARACTERS_MAX),
});
const RejectionInput = input({
  ...DecisionInput.properties,
  answer: maybeText(
    "What the model reads in place of the result, instead of a reason; recorded as the reason.",
    ANSWER_CHARACTERS_MAX,
  ),
});
type RejectionInput = Static<typeof RejectionInput>;

/** State in the audit log, which outlives the texts of an account. */
const { id, run_id, agent_id, tool, status, decided_by, decided_at } = Approval.properties;
const AuditedApproval = Type.Object({
  ...{ id, run_id, agent_id, tool, status },
  ...{ decided_by, decided_at },
});

const audit = {
  target: (asked: { id: string }) => asked.id,
  async read({ approvals }: Admin, found: string) {
    const row = await approvals.find(found.toLowerCase());
    return row && show(AuditedApproval, row);
  },
};

type Decided = Record<string, unknown> & { is_changed: boolean };

function readReason({ reason, answer }: RejectionInput): string | null {
  if (answer === undefined) return reason ?? null;
  if (reason !== undefined) throw new AdminError("a rejection has a reason or an answer, not both");
  return `${ANSWER_BEGIN}${answer}`;
}

function decide<I extends typeof DecisionInput | typeof RejectionInput>(
  verb: string,
  decision: Decision,
  typed: I,
  summary: string,
): Operation<I, Decided> {
  return {
    name: `approvals ${verb}`,
    method: "POST",
    path: `/approvals/:id/${verb}`,
    summary,
    input: typed,
    reply: DecidedApproval,
    isForApprovers: true,
    isForLinks: true,
    audit,
    async run({ approvals }, asked: RejectionInput, { name, scope }) {
      const request = { decision, reason: readReason(asked), by: name, scope };
      const { approval, isChanged } = await approvals.decide(asked.id, request);
      return { ...show(Approval, approval), is_changed: isChanged };
    },
  };
}

export const approvalOperations = {
  list: defineOperation({
    name: "approvals list",
    method: "GET",
    path: "/approvals",
    summary: "List the newest calls that need a person's approval.",
    input: input({
      account,
      status: Type.Optional(oneOf(APPROVAL_STATUSES, "Status of the approvals.")),
      limit,
    }),
    reply: Type.Array(ListedApproval),
    isForApprovers: true,
    isForLinks: true,
    async run({ approvals }, asked, { scope }) {
      const found = await approvals.list({
        account: asked.account ?? null,
        status: asked.status ?? null,
        limit: asked.limit ?? LIMIT,
        scope,
      });
      return found.map((row) => show(ListedApproval, row));
    },
  }),
  show: defineOperation({
    name: "approvals show",
    method: "GET",
    path: "/approvals/:id",
    summary: "Show an approval in detail.",
    input: input({ id: idOf("approval") }),
    reply: ShownApproval,
    isForApprovers: true,
    isForLinks: true,
    async run({ approvals }, asked, { scope }) {
      const { approval, context } = await approvals.show(asked.id, scope);
      return { approval: show(Approval, approval), ...context };
    },
  }),
  approve: decide("approve", "approved", DecisionInput, "Approve a call with the arguments shown."),
  reject: decide(
    "reject",
    "rejected",
    RejectionInput,
    "Reject a call; its run continues without it.",
  ),
};
