// Pages of approvals: what may be asked of them, and how one leads to the next.
import { type Static, Type } from "@sinclair/typebox";
import {
  answerList,
  BEFORE,
  decodePosition,
  encodePosition,
  type HandlerReply,
  type ListParts,
  NEXT_BEFORE,
  Uuid,
} from "../../http/index.ts";
import { oneOf, Resource, show } from "../../platform/schema.ts";
import { Approval, type ApprovalRow, STATUSES } from "./approval.ts";
import type { ApprovalFilter } from "./store.ts";

const LIMIT = { default: 50, minimum: 1, maximum: 200 };
/** So many are read and written at once: the arguments of one may take 256 KB. */
const APPROVALS_AT_ONCE = 10;

export const ApprovalsQuery = Type.Object({
  status: Type.Optional(oneOf(STATUSES, "Only approvals that are in it.")),
  run_id: Type.Optional(Uuid("Only approvals of this run.")),
  agent_id: Type.Optional(Uuid("Only approvals of this agent.")),
  limit: Type.Optional(
    Type.Integer({ ...LIMIT, description: "Approvals of a page: 1 to 200; left out: 50." }),
  ),
  before: BEFORE,
});
type ApprovalsQuery = Static<typeof ApprovalsQuery>;

export const ApprovalList = Resource(
  "ApprovalList",
  {
    data: Type.Array(Approval, { description: "Approvals, newest first by `requested_at`." }),
    next_before: NEXT_BEFORE,
  },
  "A page of approvals.",
);

/** What is wanted of an account's approvals, as many as a page has. */
export function readListing(account_id: string, query: ApprovalsQuery): ApprovalFilter {
  const { agent_id = null, run_id = null, status = null, limit = LIMIT.default } = query;
  const filter = { account_id, agent_id, run_id, status, before: null, limit };
  return query.before === undefined
    ? filter
    : { ...filter, before: decodePosition(nameList(filter), query.before) };
}

type List = (filter: ApprovalFilter) => Promise<readonly ApprovalRow[]>;

/** The page that a filter finds: a short one in one piece, a long one in parts. */
export function answerPage(
  filter: ApprovalFilter,
  list: List,
  deps: Parameters<typeof answerList>[1],
): Promise<HandlerReply> {
  return answerList(tellPage(filter, list), deps);
}

async function* tellPage(filter: ApprovalFilter, list: List): ListParts {
  let { before } = filter;
  for (let left = filter.limit; ; left -= APPROVALS_AT_ONCE) {
    const wanted = Math.min(left, APPROVALS_AT_ONCE);
    // One more than is shown tells whether there is more.
    const found = await list({ ...filter, before, limit: wanted + 1 });
    const rows = found.slice(0, wanted);
    yield rows.map((row) => show(Approval, row));
    if (found.length <= wanted) return { next_before: null };
    const { requested_at: at, id } = rows.at(-1)!;
    before = { at, id };
    if (left <= wanted) return { next_before: encodePosition(nameList(filter), before) };
  }
}

/** Another filter is another list. */
function nameList({ account_id, agent_id, run_id, status }: ApprovalFilter): string {
  return `approvals ${[account_id, agent_id, run_id, status].join(" ")}`;
}
