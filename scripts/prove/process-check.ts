// Laws that hold once several servers, some of which died or froze, have done all their work.
import { HOOKS, type ProcessStage } from "./process-stage.ts";
import type { Facts } from "./process-trial.ts";

/** How often each law was broken. */
export interface ProcessBreaches {
  "accepted runs lost": number;
  "runs started twice by one key": number;
  "runs that did not succeed": number;
  "runs whose steps or messages have gaps": number;
  "ends not reported exactly once": number;
  "accounts with wrong counts": number;
  "calls that may not be repeated, sent twice": number;
  "requests without a step": number;
  "instants fired twice, or not started": number;
  "deliveries lost": number;
  "deliveries doubled without a cause": number;
  "repeats by a process that was woken": number;
  "processes that ended wrongly": number;
}

const GAPS = `(SELECT run_id FROM steps JOIN runs ON runs.id = run_id GROUP BY run_id, last_seq
    HAVING COUNT(*) <> last_seq OR MAX(seq) <> last_seq
  UNION ALL SELECT thread_id FROM messages GROUP BY thread_id
    HAVING COUNT(*) <> MAX(seq) OR MIN(seq) <> 1) AS gaps`;
const UNREPORTED = `(SELECT runs.id FROM runs LEFT JOIN outbox
      ON type IN ('run.completed', 'run.failed')
      AND outbox.data::json -> 'run' ->> 'id' = runs.id
    GROUP BY runs.id HAVING COUNT(outbox.id) <> 1) AS unreported`;
const WRONG_COUNTS = `run_counts WHERE active <> 0
  OR started <> (SELECT COUNT(*) FROM runs WHERE runs.account_id = run_counts.account_id)
  OR started <> (SELECT MAX(number) FROM runs WHERE runs.account_id = run_counts.account_id)`;
const TWICE = `(SELECT metadata FROM runs WHERE metadata LIKE '%token%' GROUP BY metadata
    HAVING COUNT(*) > 1) AS twice`;
const MISFIRED = `(SELECT trigger_id FROM fires GROUP BY trigger_id, scheduled_at
    HAVING COUNT(*) > 1 OR MIN(outcome) <> 'started' OR MAX(outcome) <> 'started') AS misfired`;

export const checkProcesses = async (
  { sql, count, calls, hooks }: ProcessStage,
  { accepted, cancelled, mayDouble, late, faults }: Facts,
): Promise<ProcessBreaches> => {
  const rows: { id: string; status: string }[] = await sql`SELECT id, status FROM runs`;
  const stored = new Set(rows.map(({ id }) => id));
  const isWrong = ({ id, status }: (typeof rows)[number]) =>
    status !== (cancelled.has(id) ? "cancelled" : "succeeded");
  const steps = await sql`SELECT DISTINCT data::json ->> 'tool_call_id' AS id FROM steps
    WHERE kind = 'tool_call'`;
  const planned = new Set(steps.map(({ id }: { id: string }) => id));
  const arrived = Map.groupBy(calls.arrivals, ({ key }) => key);
  const sent = Map.groupBy(hooks.arrivals, ({ path, id }) => `${path} ${id}`);
  const doubled = [...sent.values()].filter((all) => all.length > 1 && !mayDouble.has(all[0]!.id));
  const reported = await count("outbox WHERE type IN ('run.completed', 'run.failed')");
  const fired = await count("outbox WHERE type = 'trigger.fired'");
  return {
    "accepted runs lost": [...accepted].filter((id) => !stored.has(id)).length,
    "runs started twice by one key": await count(TWICE),
    "runs that did not succeed": rows.filter(isWrong).length,
    "runs whose steps or messages have gaps": await count(GAPS),
    "ends not reported exactly once": await count(UNREPORTED),
    "accounts with wrong counts": await count(WRONG_COUNTS),
    "calls that may not be repeated, sent twice": [...arrived.values()].filter(
      (all) => all[0]!.path === "/pay" && all.length > 1,
    ).length,
    "requests without a step": [...arrived.keys()].filter((key) => !planned.has(key)).length,
    "instants fired twice, or not started": await count(MISFIRED),
    "deliveries lost": (reported + fired) * HOOKS - sent.size,
    "deliveries doubled without a cause": doubled.length,
    "repeats by a process that was woken": late.length,
    "processes that ended wrongly": faults.length,
  };
};
