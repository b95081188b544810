// Checks calls and their results after any failure of the program that made them.
import { Database as Connection } from "bun:sqlite";
import type { Approval } from "../../src/agents/approvals/approval.ts";
import type { StepRow, ToolCallData, ToolResultData } from "../../src/agents/runs/step.ts";
import { writeCanonical } from "../../src/platform/json.ts";

/** Something that came to a receiver. */
export interface Arrival {
  /** The header by which it would know a repeat. */
  key: string;
  body: string;
}

/** How many calls, arrivals or approvals break each law. */
export interface CallBreaches {
  /** Calls without exactly one result and one message. */
  unanswered: number;
  /** Arrivals that belong to no call, or whose body differs from the plan and the approval. */
  strange: number;
  /** Arrivals without a step that was written before them. */
  unwritten: number;
  /** Arrivals of unrepeatable calls beyond the first and those that a person allowed. */
  unallowed: number;
  /** Calls of which the steps count their sendings wrongly. */
  miscounted: number;
  /** Approvals whose row, steps and events disagree. */
  unreported: number;
  /** Runs whose calls or prices do not add up. */
  unsummed: number;
}

/** All steps of one call. */
interface Call {
  run_id: string;
  steps: ToolCallData[];
  results: ToolResultData[];
}
type Row = Pick<StepRow, "run_id" | "seq" | "kind"> & { data: string };

/** `mayRepeat`: by the name of a tool, whether its calls may come again by themselves. */
export function checkCalls(
  file: string,
  arrivals: readonly Arrival[],
  mayRepeat: (tool: string) => boolean,
): CallBreaches {
  using connection = new Connection(file, { readonly: true });
  const calls = readCalls(connection);
  const approvals = connection
    .query<{ id: string; tool_call_id: string; status: string }, []>(
      "SELECT id, tool_call_id, status FROM approvals",
    )
    .all();
  const came = Map.groupBy(arrivals, ({ key }) => key);
  const allowed = Map.groupBy(
    approvals.filter(({ status }) => status === "approved"),
    ({ tool_call_id }) => tool_call_id,
  );
  const messages = countMessages(connection);
  const count = (is: (call: Call, id: string) => boolean) =>
    [...calls].filter(([id, call]) => is(call, id)).length;
  const excess = (most: (call: Call, id: string) => number) =>
    [...calls].reduce((sum, [id, call]) => {
      const beyond = (came.get(id)?.length ?? 0) - most(call, id);
      return sum + Math.max(0, beyond);
    }, 0);
  return {
    unanswered: count(({ results }, id) => results.length !== 1 || messages.get(id) !== 1),
    strange: arrivals.filter(({ key, body }) => {
      const planned = calls.get(key)?.steps[0];
      return planned === undefined || writeCanonical(planned.arguments) !== body;
    }).length,
    unwritten: excess(({ steps }) =>
      steps[0]!.risk === "read" ? Number.POSITIVE_INFINITY : listSendings(steps).length,
    ),
    unallowed: excess(({ steps: [planned] }, id) => {
      if (mayRepeat(planned!.name)) return Number.POSITIVE_INFINITY;
      return (planned!.decision === "auto" ? 1 : 0) + (allowed.get(id)?.length ?? 0);
    }),
    miscounted: count(({ steps }) => {
      const first = steps[0]!.attempt;
      return listSendings(steps).some(({ attempt }, at) => attempt !== first + at + 1);
    }),
    unreported: countUnreported(connection, approvals),
    unsummed: countUnsummed(connection),
  };
}

function readCalls(connection: Connection): Map<string, Call> {
  const rows = connection
    .query<Row, []>(
      `SELECT run_id, seq, kind, data FROM steps WHERE kind IN ('tool_call', 'tool_result')
       ORDER BY run_id, seq`,
    )
    .all();
  const calls = new Map<string, Call>();
  for (const { run_id, kind, data } of rows) {
    const step = JSON.parse(data) as ToolCallData | ToolResultData;
    const call = calls.get(step.tool_call_id) ?? { run_id, steps: [], results: [] };
    calls.set(step.tool_call_id, call);
    if (kind === "tool_call") call.steps.push(step as ToolCallData);
    else call.results.push(step as ToolResultData);
  }
  return calls;
}

/** Steps after the plan that are written before the request is sent. */
const listSendings = ([_planned, ...later]: readonly ToolCallData[]) =>
  later.filter(({ decision }) => decision !== "needs_approval");

function countMessages(connection: Connection): Map<string, number> {
  const rows = connection
    .query<{ id: string; n: number }, []>(
      `SELECT tool_call_id AS id, COUNT(*) AS n FROM messages WHERE tool_call_id IS NOT NULL
       GROUP BY tool_call_id`,
    )
    .all();
  return new Map(rows.map(({ id, n }) => [id, n]));
}

type Reported = { id: string; status: string };

function countUnreported(connection: Connection, approvals: readonly Reported[]): number {
  const read = (query: string) =>
    Map.groupBy(
      connection
        .query<{ approval: string }, []>(query)
        .all()
        .map(({ approval }) => JSON.parse(approval) as Approval & Reported),
      ({ id }) => id,
    );
  const steps = read(
    `SELECT json_extract(data, '$.approval') AS approval FROM steps WHERE kind = 'approval'
     ORDER BY run_id, seq`,
  );
  const events = read(
    `SELECT json_extract(data, '$.approval') AS approval FROM outbox WHERE type LIKE 'approval.%'
     ORDER BY type DESC`,
  );
  return approvals.filter(({ id, status }) => {
    const history = status === "pending" ? ["pending"] : ["pending", status];
    return [steps, events].some(
      (reported) => `${reported.get(id)?.map((one) => one.status)}` !== `${history}`,
    );
  }).length;
}

/** Executed calls and calls with an unknown outcome count; each costs once. */
function countUnsummed(connection: Connection): number {
  return connection
    .query(
      `SELECT id FROM runs LEFT JOIN (SELECT run_id, COUNT(*) AS calls,
           SUM(CAST(ROUND(json_extract(data, '$.cost') * 1000000) AS INTEGER)) AS cost
         FROM steps WHERE kind = 'tool_result'
           AND (json_extract(data, '$.duration_ms') IS NOT NULL
             OR json_extract(data, '$.outcome') = 'outcome_unknown')
         GROUP BY run_id) AS done ON done.run_id = runs.id
       WHERE COALESCE(calls, 0) <> usage_tool_calls OR COALESCE(cost, 0) <> cost_tools`,
    )
    .all().length;
}
