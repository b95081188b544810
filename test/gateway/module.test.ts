// Tests how the gateway joins its router.
import { expect, test } from "bun:test";
import { createGateway, InFlight } from "../../src/gateway/index.ts";
import type { Router } from "../../src/http/index.ts";
import type { ModelRegistry } from "../../src/models/index.ts";
import { createTrustedEgress } from "../../src/net/index.ts";
import { createLog } from "../../src/platform/log.ts";
import { defaultSettings } from "../../src/settings/index.ts";
import { createTestServer } from "../http/test-server.ts";
import { createManualClock } from "../support/clock.ts";
import { inlineCompute } from "../support/compute.ts";
import { openTestDatabase } from "../support/database.ts";
import { createSeededIds } from "../support/ids.ts";

test("every route that asks a server is exempt from the server's idle timeout", async () => {
  const database = await openTestDatabase({ kind: "memory" });
  const clock = createManualClock();
  const log = createLog(clock, () => undefined, false);
  const opened: Router[] = [];
  createTestServer((router) => {
    opened.push(router);
    createGateway(router, {
      settings: defaultSettings(),
      // Called by requests only.
      registry: {} as ModelRegistry,
      running: new InFlight(),
      findCaller: async () => undefined,
      database,
      egress: createTrustedEgress({ clock }),
      compute: inlineCompute,
      clock,
      ids: createSeededIds(),
      log,
      hashUser: (text) => text,
    });
  });
  const asking = opened[0]!.routes.filter(({ method }) => method === "POST");
  expect(asking.map(({ path, spec }) => [path, spec.isSlow])).toEqual([
    ["/v1/chat/completions", true],
    ["/v1/responses", true],
    ["/v1/messages", true],
    ["/v1/messages/count_tokens", true],
    ["/v1/embeddings", true],
    ["/v1/search", true],
  ]);
  await database.close();
});
