// Operations that count runs: those that failed lately, and those that were started.
import { show } from "../../platform/schema.ts";
import { AdminError } from "../errors.ts";
import { defineOperation } from "../operation.ts";
import { RunFailures } from "../run-failures.ts";
import { RunUsageReport } from "../run-usage.ts";
import { readTimeAgo } from "../time.ts";
import { input, maybeText, usageRange } from "./fields.ts";

export const runCountOperations = {
  failures: defineOperation({
    name: "runs failures",
    method: "GET",
    path: "/failures",
    summary: "Count runs that failed lately, with the commonest error code.",
    input: input({
      since: maybeText("Earliest end, such as 2027-01-05, or a duration before now; 24h without."),
    }),
    reply: RunFailures,
    async run({ countFailures, clock }, { since = "24h" }) {
      const time = readTimeAgo(since, clock.now());
      if (time === null) throw new AdminError(`"${since}" is no time, such as 2027-01-05 or 1h`);
      return show(RunFailures, await countFailures(time));
    },
  }),
  usage: defineOperation({
    name: "runs usage",
    method: "GET",
    path: "/usage/runs",
    summary: "Count runs by when they were started.",
    input: input({
      by: maybeText(
        "One or two of day, hour, account, key, model, agent; `day` without. Hours are those of " +
          "at most 7 days.",
      ),
      ...usageRange,
    }),
    reply: RunUsageReport,
    run: ({ runUsage }, { by = "day", ...asked }) => runUsage({ by, ...asked }),
  }),
};
