// Sums of usage by half hours in place of days, and the agent of each request.
import type { Migration } from "./migration.ts";

const SUMS = ["requests", "failed", "prompt_tokens", "completion_tokens", "cost", "unpriced"];

/** Half hours from 1970 to noon of a day: the day number of the Gregorian calendar, times 48. */
const NOON_OF_DAY = `(
  (1461 * (y + 4800 + (m - 14) / 12)) / 4 + (367 * (m - 2 - 12 * ((m - 14) / 12))) / 12
  - (3 * ((y + 4900 + (m - 14) / 12) / 100)) / 4 + d - 32075 - 2440588
) * 48 + 24`;

export const usageSums: Migration = {
  number: 16,
  name: "usage sums",
  statements: ({ integer, text, clustered }) => {
    const part = (from: number, length: number) =>
      `CAST(substr(day, ${from}, ${length}) AS ${integer})`;
    return [
      `ALTER TABLE ledger ADD COLUMN agent_id ${text}`,
      `ALTER TABLE ledger ADD COLUMN agent_version ${integer}`,
      // Empty texts and 0 stand for nothing: nulls are all different in a key.
      `CREATE TABLE usage_sums (
        slot ${integer} NOT NULL,
        account_id ${text} NOT NULL,
        key_id ${text} NOT NULL,
        model ${text} NOT NULL,
        route ${text} NOT NULL,
        agent_id ${text} NOT NULL,
        agent_version ${integer} NOT NULL,
        requests ${integer} NOT NULL,
        failed ${integer} NOT NULL,
        callers_left ${integer} NOT NULL DEFAULT 0,
        prompt_tokens ${integer} NOT NULL,
        completion_tokens ${integer} NOT NULL,
        estimated ${integer} NOT NULL DEFAULT 0,
        estimated_prompt_tokens ${integer} NOT NULL DEFAULT 0,
        estimated_completion_tokens ${integer} NOT NULL DEFAULT 0,
        cost ${integer},
        unpriced ${integer} NOT NULL,
        unpriced_estimated ${integer} NOT NULL DEFAULT 0,
        PRIMARY KEY (slot, account_id, key_id, model, route, agent_id, agent_version)
      )${clustered}`,
      `INSERT INTO usage_sums (slot, account_id, key_id, model, route, agent_id, agent_version,
          ${SUMS.join(", ")})
        SELECT ${NOON_OF_DAY}, account_id, key_id, model, route, '', 0, ${SUMS.join(", ")}
        FROM (SELECT ledger_days.*, ${part(1, 4)} AS y, ${part(6, 2)} AS m, ${part(9, 2)} AS d
              FROM ledger_days) AS days`,
      "DROP TABLE ledger_days",
    ];
  },
};
