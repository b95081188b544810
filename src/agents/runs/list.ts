// Pages of runs: their query, filter and cursor.
import { type Static, Type } from "@sinclair/typebox";
import {
  cursorError,
  decodeCursor,
  encodeCursor,
  Instant,
  ITEMS_AT_ONCE,
  type ListParts,
  listPage,
  NEXT_BEFORE,
  PAGE_LIMIT,
  PageQuery,
  requireInstant,
  Uuid,
} from "../../http/index.ts";
import { oneOf, show } from "../../platform/schema.ts";
import { Run, type RunRow, TRIGGER_KINDS, type TriggerKind } from "./run.ts";
import type { RunFilter } from "./store/reads.ts";
import { STATUSES, type Status } from "./transitions.ts";

/** agents.limits.runs_page */
const { limit, before } = PageQuery("Runs of a page: 1 to 200; left out: 50.");
const fields = {
  limit,
  // agents.endpoints.runs.p1
  status: Type.Optional(oneOf(STATUSES, "Only runs in this status.")),
  // agents.endpoints.runs.p2
  trigger_kind: Type.Optional(oneOf(TRIGGER_KINDS, "Only runs started this way.")),
  thread_id: Type.Optional(Uuid("Only runs of this thread.")),
  created_after: Type.Optional(Instant("Only runs accepted then or later.")),
  created_before: Type.Optional(Instant("Only runs accepted before then.")),
  before,
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
    limit: query.limit ?? PAGE_LIMIT.default,
  };
}

/** Reads a page in parts, since the texts of runs may be long. */
export function listRunPage(
  query: RunsQuery,
  filter: RunFilter,
  list: (filter: RunFilter) => Promise<readonly RunRow[]>,
): ListParts {
  return listPage<RunRow>({
    limit: filter.limit,
    partSize: ITEMS_AT_ONCE,
    list: (last, limit) => list({ ...filter, before: last?.number ?? filter.before, limit }),
    show: (row) => show(Run, row),
    cursor: ({ number }) => encodeCursor(nameList(filter.account_id, query), [number]),
  });
}

function nameList(account_id: string, { agent_id }: RunsQuery): string {
  return agent_id === undefined ? `runs of ${account_id}` : `runs of ${agent_id}`;
}

function readPosition(account_id: string, query: RunsQuery): number {
  const [number, ...others] = decodeCursor(nameList(account_id, query), query.before!);
  // The checksum is no secret: a client can forge a cursor.
  if (Number.isSafeInteger(number) && others.length === 0) return number as number;
  throw cursorError();
}

function readTime(param: "created_after" | "created_before", text: string | undefined) {
  return text === undefined ? null : requireInstant(param, text);
}
