// Checks the runs in a database after any failure of the program that wrote them.
import { Database as Connection } from "bun:sqlite";

/** How many runs, threads, accounts or days break each law. */
export interface RunBreaches {
  unended: number;
  step_gaps: number;
  message_gaps: number;
  unreported: number;
  wrong_counts: number;
  wrong_days: number;
}

/** Each rule's text and number of breaches, once no run is active. */
const LAWS: Readonly<Record<keyof RunBreaches, string>> = {
  unended: "SELECT id FROM runs WHERE finished_at IS NULL",
  step_gaps: `SELECT runs.id FROM runs LEFT JOIN steps ON steps.run_id = runs.id
    GROUP BY runs.id HAVING COUNT(seq) <> last_seq OR COALESCE(MAX(seq), 0) <> last_seq`,
  message_gaps: `SELECT thread_id FROM messages GROUP BY thread_id
    HAVING COUNT(*) <> MAX(seq) OR MIN(seq) <> 1`,
  // Each end is reported once, but for reruns from a record.
  unreported: `SELECT * FROM (SELECT id, CASE status WHEN 'succeeded' THEN 'run.completed'
          ELSE 'run.failed' END FROM runs WHERE rerun_tools IS NOT 'recorded'
        EXCEPT SELECT json_extract(data, '$.run.id'), type FROM outbox)
    UNION ALL SELECT json_extract(data, '$.run.id') AS run_id, '' FROM outbox
      WHERE type LIKE 'run.%' GROUP BY run_id HAVING COUNT(*) > 1`,
  wrong_counts: `SELECT account_id FROM run_counts
    WHERE active <> (SELECT COUNT(*) FROM runs WHERE runs.account_id = run_counts.account_id
        AND status IN ('queued', 'running'))
      OR started <> (SELECT MAX(number) FROM runs WHERE runs.account_id = run_counts.account_id)
      OR started <> (SELECT COUNT(*) FROM runs WHERE runs.account_id = run_counts.account_id)`,
  wrong_days: `SELECT * FROM (SELECT account_id, day, agent_id, runs, succeeded, failed,
        budget_exceeded, cancelled, prompt_tokens, completion_tokens, total_tokens, tool_calls,
        cost_sar FROM run_days
      EXCEPT SELECT account_id, date(finished_at / 1000, 'unixepoch'), agent_id, COUNT(*),
        SUM(status = 'succeeded'), SUM(status = 'failed'), SUM(status = 'budget_exceeded'),
        SUM(status = 'cancelled'), SUM(usage_prompt_tokens), SUM(usage_completion_tokens),
        SUM(usage_total_tokens), SUM(usage_tool_calls), SUM(cost_total)
      FROM runs WHERE finished_at IS NOT NULL GROUP BY 1, 2, 3)`,
};

export const checkRuns = (file: string): RunBreaches => {
  using connection = new Connection(file, { readonly: true });
  const count = (query: string) => connection.query(query).all().length;
  const counts = Object.entries(LAWS).map(([law, query]) => [law, count(query)]);
  return Object.fromEntries(counts) as RunBreaches;
};
