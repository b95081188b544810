// Pages of runs: what may be asked of them, and how one leads to the next.
import { type Static, Type } from "@sinclair/typebox";
import {
  BEFORE,
  cursorError,
  decodeCursor,
  encodeCursor,
  Instant,
  type ListParts,
  NEXT_BEFORE,
  requireInstant,
  Uuid,
} from "../../http/index.ts";
import { oneOf, show } from "../../platform/schema.ts";
import { Run, type RunRow, TRIGGER_KINDS, type TriggerKind } from "./run.ts";
import type { RunFilter } from "./store/lists.ts";
import { STATUSES, type Status } from "./transitions.ts";

/** agents.limits.runs_page */
const LIMIT = { default: 50, minimum: 1, maximum: 200 };

const fields = {
  limit: Type.Optional(
    Type.Integer({ ...LIMIT, description: "Runs of a page: 1 to 200; left out: 50." }),
  ),
  // agents.endpoints.runs.p1
  status: Type.Optional(oneOf(STATUSES, "Only runs that are in it.")),
  // agents.endpoints.runs.p2
  trigger_kind: Type.Optional(oneOf(TRIGGER_KINDS, "Only runs that it started.")),
  thread_id: Type.Optional(Uuid("Only runs of this thread.")),
  created_after: Type.Optional(Instant("Only runs accepted then or later.")),
  created_before: Type.Optional(Instant("Only runs accepted before then.")),
  before: BEFORE,
};

export const AgentRunsQuery = Type.Object(fields);
export const RunsQuery = Type.Object({
  ...fields,
  agent_id: Type.Optional(Uuid("Only runs of this agent.")),
});
export type RunsQuery = Static<typeof RunsQuery>;

/** agents.resources.p6 */
export const RunPage = Type.Object(
  {
    data: Type.Array(Run, { description: "Runs, newest first." }),
    next_before: NEXT_BEFORE,
  },
  { $id: "RunPage", description: "A page of runs." },
);

/** What is wanted of an account's runs: one more than a page has, to know whether others follow. */
export function readRunsQuery(account_id: string, query: RunsQuery): RunFilter {
  return {
    account_id,
    agent_id: query.agent_id ?? null,
    thread_id: query.thread_id ?? null,
    status: (query.status as Status | undefined) ?? null,
    trigger_kind: (query.trigger_kind as TriggerKind | undefined) ?? null,
    created_after: readTime("created_after", query.created_after),
    created_before: readTime("created_before", query.created_before),
    before: query.before === undefined ? null : readPosition(account_id, query),
    limit: (query.limit ?? LIMIT.default) + 1,
  };
}

/** The page of what `readListing` found. */
export function writePage(query: RunsQuery, found: readonly RunRow[]) {
  const limit = query.limit ?? LIMIT.default;
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  const hasMore = found.length > limit;
  return {
    data: rows.map((row) => show(Run, row)),
    next_before: hasMore ? encodeCursor(nameList(last!.account_id, query), [last!.number]) : null,
  };
}

/** The same in parts of so many runs: their texts may be long, and a page may have many. */
export async function* showRunPage(
  query: RunsQuery,
  filter: RunFilter,
  count: number,
  list: (filter: RunFilter) => Promise<readonly RunRow[]>,
): ListParts {
  let { before } = filter;
  for (let left = filter.limit - 1; ; left -= count) {
    const wanted = Math.min(left, count);
    const found = await list({ ...filter, before, limit: wanted + 1 });
    const rows = found.slice(0, wanted);
    yield rows.map((row) => show(Run, row));
    if (found.length <= wanted) return { next_before: null };
    before = rows.at(-1)!.number;
    if (left <= count)
      return { next_before: encodeCursor(nameList(filter.account_id, query), [before]) };
  }
}

/** Runs of one agent are another list than all, and those of another account, too. */
function nameList(account_id: string, { agent_id }: RunsQuery): string {
  return agent_id === undefined ? `runs of ${account_id}` : `runs of ${agent_id}`;
}

function readPosition(account_id: string, query: RunsQuery): number {
  const [number, ...others] = decodeCursor(nameList(account_id, query), query.before!);
  // Its checksum keeps no secret: anybody can write one for whatever they like.
  if (Number.isSafeInteger(number) && others.length === 0) return number as number;
  throw cursorError();
}

function readTime(param: "created_after" | "created_before", text: string | undefined) {
  return text === undefined ? null : requireInstant(param, text);
}
