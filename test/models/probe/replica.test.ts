// Tests the check of one replica, as `wadi check` makes it.
import { expect, test } from "bun:test";
import { checkReplica } from "../../../src/models/index.ts";
import { createTrustedEgress } from "../../../src/net/index.ts";
import { readSettings } from "../../../src/settings/index.ts";
import { createManualClock } from "../../support/clock.ts";
import { createSeededIds } from "../../support/ids.ts";
import { chat, type Routes, refuse, startModelServer, vllm } from "../../support/model-servers.ts";

async function check(routes: Routes, model: string) {
  const clock = createManualClock();
  const egress = createTrustedEgress({ clock });
  const server = startModelServer(routes);
  const url = `${server.root}/v1`;
  const { upstream } = readSettings(
    `[[models]]\nid = "one"\n[models.upstream]\nkind = "openai"\nurls = ["${url}"]\n` +
      `model = "${model}"`,
    ...(["wadi.toml", {}, {}] as const),
  ).models[0]!;
  if (upstream.kind === "stub") throw new Error("it has a server");
  const found = await checkReplica({ upstream, url, egress, clock, ids: createSeededIds() });
  egress.close();
  await server.stop();
  // A timer that is left would keep the command waiting.
  expect(clock.pending()).toBe(0);
  return found;
}
const NAME = "Qwen/Qwen3-32B";

test("a replica in order answers, lists its model, is healthy and counts", async () => {
  expect(await check(vllm(), NAME)).toMatchObject({
    ...{ answered_ms: 0, reason: null, is_listed: true, is_healthy: true, counts_tokens: true },
  });
  expect(await check(vllm(), "other")).toMatchObject({ is_listed: false });
  const date = new Date(Date.UTC(2026, 10, 20, 12, 0, 9)).toUTCString();
  const ahead = () => Response.json({ data: [] }, { headers: { date } });
  expect(await check(vllm({ "GET /v1/models": ahead }), NAME)).toMatchObject({
    ...{ aheadMs: 9_000, is_listed: null },
  });
});

test("a failure is told with its reason, and what is unknown is null", async () => {
  const failing = chat({ judge: () => refuse(500, "secret") });
  const found = await check(vllm({ "POST /v1/chat/completions": failing }), NAME);
  expect(found).toMatchObject({ answered_ms: null, reason: "it answered with status 500" });
  const healths = [401, 404, 500, 503].map(async (status) => {
    const routes = vllm({ "GET /health": () => new Response("", { status }) });
    return (await check(routes, NAME)).is_healthy;
  });
  expect(await Promise.all(healths)).toEqual([null, null, false, false]);
});
