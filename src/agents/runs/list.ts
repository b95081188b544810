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
import { yieldToEventLoop } from "../../platform/clock.ts";
import { oneOf, show, withRules } from "../../platform/schema.ts";
import { SentMetadata, validateMetadata } from "../definitions/agent.ts";
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
  metadata: Type.Optional({
    ...SentMetadata,
    description:
      "Only runs whose `metadata` has these texts, such as `metadata[ticket]=A-17`. A page ends " +
      "after 100,000 runs that were looked at: it may be short while `next_before` is set.",
  }),
  before,
};

const rules = {
  metadata: (query: { metadata?: object }) => validateMetadata(query.metadata),
};
export const AgentRunsQuery = withRules(Type.Object(fields), rules);
export const RunsQuery = withRules(
  Type.Object({ ...fields, agent_id: Type.Optional(Uuid("Only runs of this agent.")) }),
  rules,
);
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
    metadata: (query.metadata ?? {}) as Record<string, string>,
    after: null,
    before: query.before === undefined ? null : readPosition(account_id, query),
    limit: query.limit ?? PAGE_LIMIT.default,
  };
}

type ListRuns = (filter: RunFilter) => Promise<readonly RunRow[]>;

/** Reads a page in parts, since the texts of runs may be long. */
export function listRunPage(query: RunsQuery, filter: RunFilter, list: ListRuns): ListParts {
  const write = (number: number) => encodeCursor(nameList(filter.account_id, query), [number]);
  if (Object.keys(filter.metadata).length > 0) return listMatching(filter, list, write);
  return listPage<RunRow>({
    limit: filter.limit,
    partSize: ITEMS_AT_ONCE,
    list: (last, limit) => list({ ...filter, before: last?.number ?? filter.before, limit }),
    show: (row) => show(Run, row),
    cursor: ({ number }) => write(number),
  });
}

async function* listMatching(
  filter: RunFilter,
  list: ListRuns,
  write: (number: number) => string,
): ListParts {
  const before = yield* walkRuns(filter, list, (row) => show(Run, row));
  return { next_before: before === null ? null : write(before) };
}

/** Runs of one read of what no index knows, so that each is looked at. */
const RANGE_SIZE = 2_000;
/** Ranges that a page looks at. */
const RANGES_MAX = 50;

/**
 * Reads a page by metadata or key, range by range, so that a rare one blocks nothing for long.
 * Returns the number before which the next page begins; null: there is none.
 */
export async function* walkRuns<R>(
  filter: RunFilter,
  list: ListRuns,
  describe: (row: RunRow) => R,
): AsyncGenerator<R[], number | null> {
  let { before, limit: left } = filter;
  const all = { ...filter, metadata: {}, started_by_key_id: undefined };
  for (let ranges = 0; ranges < RANGES_MAX; ranges++) {
    const [first] = await list({ ...all, before, limit: 1 });
    if (!first) return null;
    const after = first.number - RANGE_SIZE;
    before = first.number + 1;
    for (let isWhole = true; isWhole; ) {
      const limit = Math.min(left, ITEMS_AT_ONCE);
      const rows = await list({ ...filter, after, before, limit });
      if (rows.length > 0) yield rows.map(describe);
      left -= rows.length;
      isWhole = rows.length === limit;
      before = isWhole ? rows.at(-1)!.number : after + 1;
      if (left === 0) return before;
    }
    await yieldToEventLoop();
  }
  return before;
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
