// The routes of approvals: pages of them, one, and a person's decision.
import { Type } from "@sinclair/typebox";
import { accountOf, type Caller } from "../../access/index.ts";
import {
  type Door,
  IdParams,
  readCursor,
  refuseCursor,
  Uuid,
  writeCursor,
} from "../../http/index.ts";
import { refuse } from "../../platform/refusal.ts";
import { maybe, oneOf, Resource, show } from "../../platform/shape.ts";
import type { RunsAround } from "../runs/around.ts";
import { Approval, type ApprovalRow, STATUSES } from "./approval.ts";
import type { Decision } from "./deciding.ts";
import { approvalStore, type FoundApproval } from "./store.ts";

const PAGE = 50;
const PAGE_MAX = 200;
const CURSOR_CHARACTERS_MAX = 128;
const REASON_CHARACTERS_MAX = 1_000;
const ID = /^[0-9a-f-]{36}$/;

const ApprovalsQuery = Type.Object({
  status: Type.Optional(oneOf(STATUSES, "Only approvals of this status.")),
  run_id: Type.Optional(Uuid("Only approvals of this run.")),
  agent_id: Type.Optional(Uuid("Only approvals of this agent.")),
  limit: Type.Optional(
    Type.Integer({ description: "At most so many.", minimum: 1, maximum: PAGE_MAX, default: PAGE }),
  ),
  before: Type.Optional(
    Type.String({
      description: "The `next_before` of the page before.",
      maxLength: CURSOR_CHARACTERS_MAX,
    }),
  ),
});

const ApprovalList = Resource(
  "ApprovalList",
  {
    data: Type.Array(Approval, { description: "Newest first." }),
    next_before: maybe(
      Type.String({ description: "`before` of the next page; null: this is the last." }),
    ),
  },
  "A page of approvals.",
);

const DecisionBody = Type.Object(
  {
    reason: Type.Optional(
      maybe(
        Type.String({
          description: "For the model and for whoever reads the run later; null: none.",
          maxLength: REASON_CHARACTERS_MAX,
        }),
      ),
    ),
  },
  { additionalProperties: false, description: "May be empty." },
);

export function openApprovalRoutes(door: Door, around: RunsAround): void {
  const approvals = around.database.bind(approvalStore);

  /** agents.authentication.6, agents.errors.approval_not_found: missing, or not the caller's. */
  const require = async (id: string, { account_id }: Caller): Promise<FoundApproval> => {
    const found = account_id === null ? undefined : await approvals.find(id);
    if (!found || found.account_id !== account_id) throw refuse("approval_not_found");
    return found;
  };
  // agents.endpoints.approvals.v1_approvals_and_v1
  door.get(
    "/v1/approvals",
    {
      summary: "List approvals",
      scope: "agents",
      query: ApprovalsQuery,
      replies: { 200: { description: "Approvals, newest first.", schema: ApprovalList } },
      refusals: ["agent_not_found", "run_not_found"],
    },
    async ({ query, caller }) => {
      const account_id = accountOf(caller);
      const { agent_id = null, run_id = null, status = null, limit = PAGE } = query;
      const list = `approvals ${[account_id, agent_id, run_id, status].join(" ")}`;
      const before = query.before === undefined ? null : readPlace(list, query.before);
      // agents.authentication.6: also where an id only narrows a list.
      if (agent_id !== null) await around.refuseForeign.agent(agent_id, account_id);
      if (run_id !== null) await around.findRun(caller, run_id);
      // One more than is shown tells whether there is more.
      const wanted = { account_id, agent_id, run_id, status, before, limit: limit + 1 };
      const found = await approvals.list(wanted);
      const page = found.slice(0, limit);
      const next_before = found.length > limit ? writePlace(list, page.at(-1)!) : null;
      return [200, { data: page.map((row) => show(Approval, row)), next_before }];
    },
  );
  door.get(
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
  openDecision(door, around, { require, verb: "approve", decision: "approved" });
  // agents.endpoints.approvals.post_v1_approvals_id_2
  openDecision(door, around, { require, verb: "reject", decision: "rejected" });
}

interface DecisionRoute {
  require(id: string, caller: Caller): Promise<FoundApproval>;
  verb: "approve" | "reject";
  decision: Decision;
}

function openDecision(
  door: Door,
  { runs, ids, clock }: Pick<RunsAround, "runs" | "ids" | "clock">,
  { require, verb, decision }: DecisionRoute,
): void {
  door.post(
    `/v1/approvals/:id/${verb}`,
    {
      summary: verb === "approve" ? "Approve a call" : "Reject a call",
      description: "Needs the scope `agents.approve`, and another key than the run's.",
      params: IdParams,
      async admit({ params, caller }) {
        const { started_by_key_id } = await require(params.id, caller);
        // agents.endpoints.approvals.key_lacks_agents_approve, agents.authentication.2
        if (!caller.scopes.includes("agents.approve")) {
          const message = "This route needs the scope agents.approve.";
          throw refuse("scope_required", { message });
        }
        // agents.endpoints.approvals.key_is_the_one_that, agents.authentication.5
        if (started_by_key_id === caller.key_id) {
          const message = "Another key or person must decide than the key that started the run.";
          throw refuse("permission_denied", { message });
        }
      },
      body: DecisionBody,
      replies: { 200: { description: "The approval as it is then.", schema: Approval } },
      refusals: [
        ...(["approval_not_found", "scope_required", "permission_denied"] as const),
        ...(["approval_decided", "approval_expired", "approval_closed"] as const),
      ],
    },
    async ({ params, body, caller }) => {
      const decided = await runs.decide({
        approval_id: params.id,
        account_id: accountOf(caller),
        ...{ decision, reason: body.reason ?? null },
        decided_by: { kind: "key", id: caller.key_id },
        ...{ step_id: ids.uuid(), event_id: ids.uuid(), now: clock.now() },
      });
      return [200, show(Approval, decided)];
    },
  );
}

function writePlace(list: string, { requested_at, id }: ApprovalRow): string {
  return writeCursor(list, [requested_at, id]);
}

function readPlace(list: string, text: string) {
  const [requested_at, id] = readCursor(list, text);
  const isPlace = Number.isSafeInteger(requested_at) && typeof id === "string" && ID.test(id);
  if (!isPlace) throw refuseCursor();
  return { requested_at: requested_at as number, id: id as string };
}
