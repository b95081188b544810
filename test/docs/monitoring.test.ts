// The page about monitoring names every metric, and Prometheus has nothing to say against their form.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ComputePool } from "../../src/compute/index.ts";
import { openMetrics } from "../../src/platform/metrics.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { createManualClock } from "../support/clock.ts";
import { findPage } from "../support/documents.ts";
import { judge, promtool } from "../support/prometheus.ts";
import { startUpstream } from "../support/upstream.ts";

let directory: string;
let upstream: ReturnType<typeof startUpstream>;
let app: TestApp;
let shown: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "wadi-monitoring-"));
  upstream = startUpstream();
  const servers = `kind = "openai"\nurls = ["${upstream.url}"]\n`;
  const model = '[[models]]\nid = "m-1"\nprovider = "wadi"\nself_hosted = true\n';
  app = await startApp({
    settings: `${model}[models.upstream]\n${servers}[embeddings]\n${servers}[telemetry]\notlp = "${upstream.url}"\n[backup]\nevery = "1h"\nto = "${directory}"\n`,
    // Figures of the disk exist for files only.
    place: { kind: "sqlite", file: join(directory, "wadi.db") },
    hasOpenMetrics: true,
    listens: true,
  });
  expect((await app.chat("Hello")).status).toBe(201);
  expect((await app.chat("Hello", { temperature: 9 })).status).toBe(400);
  shown = await (await app.get("/metrics", { key: null })).text();
});
afterAll(async () => {
  await app.stop();
  await upstream.stop();
  rmSync(directory, { recursive: true });
});

const listNames = (text: string) =>
  [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name!).sort();

test("the page lists exactly the metrics that the server shows", async () => {
  const metrics = await openMetrics();
  // The app of a test computes without Workers.
  const clock = createManualClock();
  new ComputePool({ script: new URL("file:///none"), clock, log: {} as never }).show(metrics);
  const listed = [...findPage("monitoring").text.matchAll(/^\| `([a-z_]+)` \|/gm)];
  expect(listed.map(([, name]) => name!).sort()).toEqual(
    [...listNames(shown), ...listNames(await metrics.write())].sort(),
  );
});

test("replicas, tokens and refusals have samples with bounded labels", () => {
  const chat = 'gen_ai_operation_name="chat",gen_ai_request_model="m-1"';
  const replica = `${chat},replica="${new URL(upstream.url).host}"`;
  expect(shown).toContain(`wadi_replica_up{${replica}} 1\n`);
  expect(shown).toContain(`wadi_replica_requests_in_flight{${replica}} 0\n`);
  expect(shown).toContain(`wadi_replica_breaker_open{${replica}} 0\n`);
  expect(shown).toContain(`wadi_model_requests_waiting{${chat}} 0\n`);
  expect(shown).toContain(`wadi_tokens_total{${chat},gen_ai_token_type="input"} 7\n`);
  expect(shown).toContain('wadi_refusals_total{code="invalid_request"} 1\n');
  expect(shown).toMatch(/^wadi_database_bytes [1-9]\d+$/m);
  expect(shown).toMatch(/^wadi_database_wal_bytes \d+$/m);
  expect(shown).toMatch(/^wadi_disk_free_min_bytes 536870912$/m);
});

test.skipIf(!promtool)("promtool finds no fault in the page of metrics", async () => {
  expect(await judge(["check", "metrics"], shown)).toEqual({ code: 0, says: "" });
});
