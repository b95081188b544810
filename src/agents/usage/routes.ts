// GET /v1/agents/usage.
import { accountOf } from "../../access/index.ts";
import type { Router } from "../../http/index.ts";
import type { AgentsDeps } from "../deps.ts";
import { usageStore } from "./store.ts";
import { readWindow, UsageQuery, UsageReport, writeReport } from "./usage.ts";

export function openUsageRoute(door: Router, { database, clock }: AgentsDeps): void {
  const usage = database.bind(usageStore);
  // agents.endpoints.usage.p1
  door.get(
    "/v1/agents/usage",
    {
      summary: "Sum what runs used",
      description: "Of runs that finished in a window of days; a run counts on the day it ended.",
      scope: "agents",
      // agents.authentication.3
      isScopeCertain: true,
      query: UsageQuery,
      replies: { 200: { description: "The sums.", schema: UsageReport } },
      refusals: ["invalid_request"],
    },
    async ({ caller, query }) => {
      // agents.endpoints.usage.3
      const by = query.group_by ?? "day";
      const window = readWindow(query, clock.now());
      const sums = await usage.sum(accountOf(caller), by, window.from, window.to);
      return [200, writeReport(by, window, sums)];
    },
  );
}
