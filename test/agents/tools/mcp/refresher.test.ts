// Which MCP servers are read while an operator has switched them off.
import { expect, test } from "bun:test";
import { McpRefresher } from "../../../../src/agents/tools/mcp/refresher.ts";
import type { McpServers } from "../../../../src/agents/tools/mcp/servers.ts";
import { createLog } from "../../../../src/platform/log.ts";
import { readSettings } from "../../../../src/settings/index.ts";
import { createManualClock } from "../../../support/clock.ts";

test.each([
  ["open = true\nmcp = true", 2],
  ["open = true\nmcp = false", 0],
  ["open = false\nmcp = true", 0],
])("with %j servers that are due are looked for %d times in a minute", async (text, times) => {
  const clock = createManualClock();
  const looks: number[] = [];
  const store = {
    claimDue: async (now: number, next: number) => {
      looks.push(next - now);
      return [];
    },
    findNextDue: async () => undefined,
  };
  const settings = readSettings(`[agents]\n${text}\n`, "wadi.toml", {}, {});
  const refresher = new McpRefresher({
    servers: { store, refresh: async () => {} } as unknown as McpServers,
    ...{ database: { listen: () => () => {} }, clock, settings: () => settings },
    log: createLog(clock, () => {}, false),
  });
  refresher.start();
  await clock.advance(0);
  await clock.advance(60_000);
  expect(looks).toEqual(Array(times).fill(3_600_000));
  await refresher.stop(0);
});
