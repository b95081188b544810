// Routes of approvals: list, read, approve and reject.
import { type Static, Type } from "@sinclair/typebox";
import { accountOf, type Caller, requireScope } from "../../access/index.ts";
import {
  answerList,
  decodePosition,
  encodePosition,
  IdParams,
  listPage,
  NEXT_BEFORE,
  PAGE_LIMIT,
  PageQuery,
  type Router,
  Uuid,
} from "../../http/index.ts";
import { apiError } from "../../platform/errors.ts";
import { maybe, oneOf, Resource, StoredText, show } from "../../platform/schema.ts";
import type { RunsDeps } from "../runs/deps.ts";
import { Approval, type ApprovalRow, REASON_CHARACTERS_MAX, STATUSES } from "./approval.ts";
import { type Decision, decideApproval } from "./decision.ts";
import { type ApprovalFilter, approvalStore, type FoundApproval } from "./store.ts";

/** Number of approvals handled at once: the arguments of one may take 256 KB. */
const APPROVALS_AT_ONCE = 10;

const ApprovalsQuery = Type.Object({
  status: Type.Optional(oneOf(STATUSES, "Only approvals that are in it.")),
  run_id: Type.Optional(Uuid("Only approvals of this run.")),
  agent_id: Type.Optional(Uuid("Only approvals of this agent.")),
  ...PageQuery("Approvals of a page: 1 to 200; left out: 50."),
});
type ApprovalsQuery = Static<typeof ApprovalsQuery>;

const ApprovalList = Resource(
  "ApprovalList",
  {
    data: Type.Array(Approval, { description: "Approvals, newest first by `requested_at`." }),
    next_before: NEXT_BEFORE,
  },
  "A page of approvals.",
);

const DecideApproval = Type.Object(
  {
    reason: Type.Optional(
      maybe(
        StoredText(
          "Why, in at most 1,000 characters: kept with the approval and, of a rejection, told " +
            "to the model; null or left out: none.",
          REASON_CHARACTERS_MAX,
        ),
      ),
    ),
  },
  {
    $id: "DecideApproval",
    additionalProperties: false,
    description: "What is sent with a decision; an empty body is `{}`.",
    examples: [{}, { reason: "The sum is right, and they wait for it." }],
  },
);

export function openApprovalRoutes(router: Router, deps: RunsDeps): void {
  const approvals = deps.database.bind(approvalStore);

  /** agents.authentication.6, agents.errors.approval_not_found */
  const require = async (id: string, { account_id }: Caller): Promise<FoundApproval> => {
    const found = await approvals.find(id);
    if (!found || found.account_id !== account_id) throw apiError("approval_not_found");
    return found;
  };
  // agents.endpoints.approvals.v1_approvals_and_v1
  router.get(
    "/v1/approvals",
    {
      summary: "List approvals",
      description:
        "Of all agents of the account, newest first; undecided ones have `status=pending`.",
      scope: "agents",
      query: ApprovalsQuery,
      replies: {
        200: { description: "A page of approvals, newest first.", schema: ApprovalList },
      },
      refusals: ["agent_not_found", "run_not_found"],
    },
    async ({ query, caller, request, requestId }) => {
      const account_id = accountOf(caller);
      const filter = readFilter(account_id, query);
      // agents.authentication.6: applies to ids in filters too.
      if (filter.agent_id !== null) await deps.requireOwned.agent(filter.agent_id, account_id);
      if (filter.run_id !== null) await deps.findRun(caller, filter.run_id);
      const parts = listPage<ApprovalRow>({
        limit: filter.limit,
        partSize: APPROVALS_AT_ONCE,
        list: (last, limit) =>
          approvals.list({ ...filter, before: last ? positionOf(last) : filter.before, limit }),
        show: (row) => show(Approval, row),
        cursor: (last) => encodePosition(nameList(filter), positionOf(last)),
      });
      return answerList(parts, { request, requestId, log: deps.log });
    },
  );
  router.get(
    "/v1/approvals/:id",
    {
      summary: "Read an approval",
      scope: "agents",
      params: IdParams,
      replies: { 200: { description: "The approval.", schema: Approval } },
      refusals: ["approval_not_found"],
    },
    async ({ params, caller }) => [200, show(Approval, await require(params.id, caller))],
  );
  // agents.endpoints.approvals.post_v1_approvals_id
  openDecision(router, deps, { require, verb: "approve", decision: "approved" });
  // agents.endpoints.approvals.post_v1_approvals_id_2
  openDecision(router, deps, { require, verb: "reject", decision: "rejected" });
}

function readFilter(account_id: string, query: ApprovalsQuery): ApprovalFilter {
  const { agent_id = null, run_id = null, status = null, limit = PAGE_LIMIT.default } = query;
  const filter = { account_id, agent_id, run_id, status, before: null, limit };
  return query.before === undefined
    ? filter
    : { ...filter, before: decodePosition(nameList(filter), query.before) };
}

function positionOf({ requested_at: at, id }: ApprovalRow) {
  return { at, id };
}

function nameList({ account_id, agent_id, run_id, status }: ApprovalFilter): string {
  return `approvals ${[account_id, agent_id, run_id, status].join(" ")}`;
}

const OTHERS_DECIDE = "another key or person must decide than the key that started the run";
const FINAL =
  "A decision is final: the same again changes nothing, the other one is refused. Needs the " +
  "scope `agents.approve`, which `agents` does not imply, and another key than the one that " +
  "started the run.";
const DESCRIPTIONS: Readonly<Record<Decision, string>> = {
  approved:
    "The tool is called with exactly the `arguments` that the approval shows. The run goes on as " +
    `soon as none of its approvals is pending. ${FINAL}`,
  rejected:
    "The tool is not called: the model is told so, with the reason, and the run goes on as soon " +
    "as none of its approvals is pending. The same call with the same arguments is not asked for " +
    `again in this run. ${FINAL}`,
};

interface DecisionRoute {
  require(id: string, caller: Caller): Promise<FoundApproval>;
  verb: "approve" | "reject";
  decision: Decision;
}

function openDecision(
  router: Router,
  { runs, ids, clock }: Pick<RunsDeps, "runs" | "ids" | "clock">,
  { require, verb, decision }: DecisionRoute,
): void {
  router.post(
    `/v1/approvals/:id/${verb}`,
    {
      summary: verb === "approve" ? "Approve a call" : "Reject a call",
      description: DESCRIPTIONS[decision],
      params: IdParams,
      async authorize({ params, caller }) {
        const { started_by_key_id, fired_by_key_id } = await require(params.id, caller);
        // agents.endpoints.approvals.key_lacks_agents_approve, agents.authentication.2
        requireScope(caller, "agents.approve");
        // agents.endpoints.approvals.key_is_the_one_that, agents.authentication.5
        if (started_by_key_id === caller.key_id) {
          const message = `This key started the run: ${OTHERS_DECIDE}.`;
          throw apiError("permission_denied", { message });
        }
        // The run acts for the trigger's key, but this key could have started it.
        if (fired_by_key_id === caller.key_id) {
          const message = `This key fired the trigger, or knows its secret: ${OTHERS_DECIDE}.`;
          throw apiError("permission_denied", { message });
        }
      },
      body: DecideApproval,
      replies: {
        200: {
          description: `The approval, ${decision}; unchanged where it was so already.`,
          schema: Approval,
        },
      },
      refusals: [
        "approval_not_found",
        "scope_required",
        "permission_denied",
        "approval_decided",
        "approval_expired",
        "approval_closed",
      ],
      refusal_sentences: {
        permission_denied: `This key may not do this; ${OTHERS_DECIDE}.`,
        scope_required: "The key lacks the scope `agents.approve`.",
        approval_expired: "It was not decided by `expires_at`.",
      },
    },
    async ({ params, body, caller }) => {
      const decided = await decideApproval({ ids, clock }, runs, {
        approval_id: params.id,
        account_id: accountOf(caller),
        decision,
        reason: body.reason?.toWellFormed() ?? null,
        decided_by: { kind: "key", id: caller.key_id },
      });
      return [200, show(Approval, decided)];
    },
  );
}
