// Tests whose error envelope answers a path that no route has.
import { expect, test } from "bun:test";
import { surfaceOfPath } from "../../src/http/envelope.ts";

test.each([
  ["operator", ["/operator/v1/x", "/operator/", "/console/x.js"]],
  ["agents", ["/v1/agents", "/v1/runs/x/y", "/v1/webhooks?limit=1", "/v1/hooks#x", "/v1/tools/"]],
  ["gateway", ["/", "/v1", "/v1/models", "/v1/agentsx", "/v2/agents", "/agents", "/operators/x"]],
] as const)("errors of the %s surface", (surface, paths) => {
  for (const path of paths) expect([path, surfaceOfPath(path)]).toEqual([path, surface]);
});

test("errors of MCP, and below every name of an agents' resource, are those of the agents", () => {
  const names = ["agents", "runs", "evaluations", "threads", "approvals", "tools", "mcp"];
  const paths = [...names, "triggers", "hooks", "webhooks"].map((name) => `/v1/${name}/x`);
  for (const path of ["/mcp", ...paths])
    expect([path, surfaceOfPath(path)]).toEqual([path, "agents"]);
});
