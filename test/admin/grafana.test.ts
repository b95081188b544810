// The dashboard and the alert rules of `wadi init --grafana`: they ask for metrics that exist, and
// the alerts fire on what they are for. Judged by Debian's promtool and Prometheus.
import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import * as fs from "node:fs";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeGrafanaFiles } from "../../src/admin/grafana/files.ts";
import { startApp } from "../support/app.ts";
import { findPage } from "../support/documents.ts";
import { findClosedPort } from "../support/ports.ts";
import { judge, prometheus, promtool } from "../support/prometheus.ts";

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "wadi-grafana-"));
  writeGrafanaFiles(directory);
});
afterAll(() => rmSync(directory, { recursive: true }));

const read = (name: string) => readFileSync(join(directory, name), "utf8");

interface Panel {
  title: string;
  targets?: { expr: string }[];
}
const listExpressions = () =>
  (JSON.parse(read("wadi-dashboard.json")) as { panels: Panel[] }).panels.flatMap(
    ({ targets = [] }) => targets.map(({ expr }) => expr),
  );

test("Prometheus and Grafana may read the files, whatever the mask of this user", () => {
  const masked = join(directory, "masked");
  const mask = process.umask(0o077);
  try {
    writeGrafanaFiles(masked);
  } finally {
    process.umask(mask);
  }
  const modeOf = (path: string) => fs.statSync(path).mode & 0o777;
  const modes = fs.readdirSync(masked).map((name) => modeOf(join(masked, name)));
  expect([modeOf(masked), modes]).toEqual([0o755, [0o644, 0o644]]);
});

test("a directory that cannot be written is named with the cause, and a bug is not explained", () => {
  const file = join(directory, "wadi-alerts.yml");
  expect(() => writeGrafanaFiles(join(file, "below"))).toThrow(
    `the files of ${join(file, "below")} cannot be written (ENOTDIR)`,
  );
  using _ = spyOn(fs, "mkdirSync").mockImplementation(() => {
    throw new TypeError("a bug");
  });
  expect(() => writeGrafanaFiles(directory)).toThrow(new TypeError("a bug"));
});

test("they ask for no metric that the server does not show", () => {
  const { text } = findPage("monitoring");
  const shown = new Set([...text.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, name]) => name!));
  const asked = [...listExpressions(), read("wadi-alerts.yml")].join("\n");
  const names = asked.match(/\b(wadi|gen_ai|http|process)_\w+(?=[\s{)<>=[*])/g)!;
  const unknown = names.filter((name) => {
    const base = name.replace(/_(bucket|count|sum)$/, "");
    // Labels of the conventions begin like their metrics.
    return !shown.has(name) && !shown.has(base) && !text.includes(`\`${name}\``);
  });
  expect(unknown).toEqual([]);
  expect(new Set(names).size).toBeGreaterThan(30);
});

test("the page names every alert", () => {
  const { text } = findPage("monitoring");
  const alerts = [...read("wadi-alerts.yml").matchAll(/alert: (\w+)/g)].map(([, name]) => name!);
  expect(alerts.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});

/** Values at each minute; `labels` without the instance. */
type Series = Record<string, string>;

interface Trial {
  alert: string;
  series: Series;
  /** Minutes at which it does not fire yet, and at which it fires. */
  quietAt: number;
  firesAt: number;
  /** Labels of the fired alert beside the instance. */
  labels: Record<string, string>;
  summary: string;
}

const MODEL = { gen_ai_operation_name: "chat", gen_ai_request_model: "m-1" };
const REPLICA = { ...MODEL, replica: "10.0.0.7:8000" };
const write = (labels: Record<string, string>) =>
  Object.entries({ instance: "w-1", job: "wadi", ...labels })
    .map(([name, value]) => `${name}="${value}"`)
    .join(",");

const TRIALS: Trial[] = [
  {
    alert: "WadiReplicaDown",
    series: { [`wadi_replica_up{${write(REPLICA)}}`]: "1x10 0x20" },
    ...{ quietAt: 10, firesAt: 14, labels: { ...REPLICA, severity: "warning" } },
    summary: "10.0.0.7:8000 (chat) does not answer its health checks.",
  },
  {
    alert: "WadiApprovalOld",
    series: { [`wadi_approvals_oldest_age_seconds{${write({})}}`]: "0+60x90" },
    ...{ quietAt: 60, firesAt: 70, labels: { severity: "warning" } },
    summary: "A call has waited for a person for 1h 10m 0s: `wadi approvals list`.",
  },
  {
    alert: "WadiDiskFull",
    series: {
      [`wadi_disk_free_bytes{${write({})}}`]: "2147483648x5 1048576x20",
      [`wadi_disk_free_min_bytes{${write({})}}`]: "536870912x30",
    },
    ...{ quietAt: 5, firesAt: 8, labels: { severity: "critical" } },
    summary: "The disk of w-1 has 1MiB left: nothing new is accepted.",
  },
  {
    alert: "WadiDeliveriesWaiting",
    series: { [`wadi_deliveries_waiting{${write({})}}`]: "1000x10 1001x60" },
    ...{ quietAt: 20, firesAt: 30, labels: { severity: "warning" } },
    summary: "1001 webhook deliveries wait: `wadi webhooks list`.",
  },
  {
    alert: "WadiModelDown",
    series: { [`wadi_model_up{${write({ gen_ai_request_model: "m-1" })}}`]: "1x2 0x10" },
    ...{ quietAt: 2, firesAt: 5 },
    labels: { gen_ai_request_model: "m-1", severity: "critical" },
    summary: "No server of the model m-1 answers.",
  },
  {
    alert: "WadiDown",
    series: { [`up{${write({})}}`]: "1x2 0x10" },
    ...{ quietAt: 2, firesAt: 6, labels: { severity: "critical" } },
    summary: "w-1 does not answer Prometheus.",
  },
];

describe.skipIf(!promtool)("promtool", () => {
  test("accepts the rules and every expression of the dashboard", async () => {
    const rules = listExpressions().map((expr, n) => ({
      record: `panel:${n}`,
      expr: expr.replaceAll("$__rate_interval", "5m").replaceAll("$instance", ".*"),
    }));
    const file = join(directory, "panels.yml");
    writeFileSync(file, JSON.stringify({ groups: [{ name: "panels", rules }] }));
    const alerts = join(directory, "wadi-alerts.yml");
    const { code, says } = await judge(["check", "rules", file, alerts]);
    expect([code, says]).toEqual([0, expect.stringContaining(`${rules.length} rules found`)]);
  });

  test.each(TRIALS)("$alert fires", async ({ alert, series, quietAt, firesAt, ...fired }) => {
    const exp_labels: Record<string, string> = { instance: "w-1", job: "wadi", ...fired.labels };
    const alerts = [{ exp_labels, exp_annotations: { summary: fired.summary } }];
    const trial = {
      rule_files: ["wadi-alerts.yml"],
      evaluation_interval: "1m",
      tests: [
        {
          interval: "1m",
          input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
          alert_rule_test: [
            { eval_time: `${quietAt}m`, alertname: alert, exp_alerts: [] },
            { eval_time: `${firesAt}m`, alertname: alert, exp_alerts: alerts },
          ],
        },
      ],
    };
    const file = join(directory, `${alert}.yml`);
    writeFileSync(file, JSON.stringify(trial));
    const { code, says } = await judge(["test", "rules", file]);
    expect([code, code === 0 ? "" : says]).toEqual([0, ""]);
  });
});

test.skipIf(!prometheus)(
  "Prometheus scrapes a server with its token, and finds the dead replica",
  async () => {
    const dead = `127.0.0.1:${findClosedPort()}`;
    const model = '[[models]]\nid = "m-1"\nprovider = "wadi"\nself_hosted = true\n';
    const app = await startApp({
      settings: `${model}[models.upstream]\nkind = "openai"\nurls = ["http://${dead}/v1"]
[server]\nmetrics_token_env = "TOKEN"\n`,
      env: { TOKEN: "t-1" },
      listens: true,
    });
    const config = {
      global: { scrape_interval: "1s", evaluation_interval: "1s" },
      rule_files: [join(directory, "wadi-alerts.yml")],
      scrape_configs: [
        {
          job_name: "wadi",
          authorization: { credentials: "t-1" },
          static_configs: [{ targets: [new URL(app.url).host] }],
        },
      ],
    };
    const file = join(directory, "prometheus.yml");
    writeFileSync(file, JSON.stringify(config));
    const port = findClosedPort();
    const storage = `--storage.tsdb.path=${join(directory, "tsdb")}`;
    const listen = `--web.listen-address=127.0.0.1:${port}`;
    const child = Bun.spawn([prometheus!, `--config.file=${file}`, storage, listen], {
      stdio: ["ignore", "ignore", "ignore"],
    });
    const ask = async (path: string) => {
      const reply = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`).catch(() => null);
      return reply?.ok ? ((await reply.json()) as { data: { alerts?: object[] } }).data : null;
    };
    const find = async () => {
      const alerts = (await ask("alerts"))?.alerts as { labels: Record<string, string> }[];
      return alerts?.find(({ labels }) => labels.alertname === "WadiReplicaDown")?.labels;
    };
    let labels = await find();
    while (!labels && child.exitCode === null) labels = await find();
    expect(labels).toMatchObject({ replica: dead, gen_ai_request_model: "m-1", job: "wadi" });
    child.kill();
    await child.exited;
    await app.stop();
  },
  60_000,
);
