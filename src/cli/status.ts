// `wadi status` and `wadi config`: how an installation is, and how it is set.
import { type InstallationStatus, upkeepOperations as operations } from "../admin/index.ts";
import { listSettings, writeValue } from "../settings/index.ts";
import type { Command } from "./command.ts";
import { call, callWithoutData } from "./operations.ts";
import { drawLines, type Output, type OutputRow, printTable } from "./output.ts";
import { readGivenSettings } from "./settings.ts";
import { paintState, writeRelative } from "./terminal.ts";

const UNITS = ["B", "KB", "MB", "GB", "TB"] as const;

export function writeBytes(bytes: number): string {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), UNITS.length - 1);
  const amount = bytes / 1024 ** power;
  return `${amount >= 100 || power === 0 ? Math.round(amount) : amount.toFixed(1)} ${UNITS[power]}`;
}

const count = (number: number, one: string, many = `${one}s`) =>
  `${number} ${number === 1 ? one : many}`;

function drawStatus(status: InstallationStatus, output: Output): string {
  const { version, database, runs, approvals, webhooks, clock, crash } = status;
  const now = Date.parse(status.now);
  const since = (at: string) => writeRelative(Date.parse(at), now);
  const oldest = approvals.oldest_requested_at;
  const models = status.models.map(({ id, state, replicas, healthy_replicas }) => {
    const all = count(replicas, "replica");
    const healthy = healthy_replicas === null ? all : `${healthy_replicas} of ${all} healthy`;
    return ["model", `${id}: ${paintState(output.terminal, state)}, ${healthy}`];
  });
  return drawLines([
    ["version", version],
    ...drawPause(status),
    ["server", drawServer(status)],
    ["data", drawData(database)],
    ...drawBackups(status, since),
    ...models,
    [
      "runs",
      `${runs.queued} queued, ${runs.running} running, ${runs.waiting_approval} waiting for a ` +
        `person${runs.suspects > 0 ? `; ${runs.suspects} crashed twice without progress` : ""}`,
    ],
    [
      "approvals",
      `${approvals.pending} pending${oldest === null ? "" : `, the oldest asked ${since(oldest)}`}`,
    ],
    [
      "webhooks",
      `${count(webhooks.waiting_deliveries, "delivery", "deliveries")} waiting, ` +
        `${count(webhooks.failing_endpoints, "endpoint")} failing, ` +
        `${webhooks.disabled_endpoints} disabled for that`,
    ],
    ["clock", clock.is_doubtful ? "over 7 days ahead of what was written last" : "not in doubt"],
    ...(crash ? [["crash", drawCrash(crash, since)]] : []),
  ]);
}

function drawPause({ installation, now }: InstallationStatus): string[][] {
  const { paused_at } = installation;
  if (paused_at === null) return [];
  const since = writeRelative(Date.parse(paused_at), Date.parse(now));
  return [["paused", `since its restore ${since}: \`wadi resume\` starts what waits`]];
}

function drawServer({ server, now }: InstallationStatus): string {
  if (!server) return "not asked: this reads the database; `--server URL` asks a server";
  return `started ${writeRelative(Date.parse(server.started_at), Date.parse(now))}`;
}

function drawBackups({ server }: InstallationStatus, since: (at: string) => string): string[][] {
  if (!server?.backups) return [];
  const { made_at, failure } = server.backups;
  const newest = made_at === null ? "none is known" : `the newest was made ${since(made_at)}`;
  return [["backups", failure === null ? newest : `${newest}; the last try failed: ${failure}`]];
}

function drawData({
  kind,
  name,
  bytes,
  wal_bytes,
  free_disk_bytes,
}: InstallationStatus["database"]) {
  return [
    kind === name ? kind : `${kind} ${name}`,
    ...(bytes === null ? [] : [writeBytes(bytes)]),
    ...(wal_bytes === null ? [] : [`log ${writeBytes(wal_bytes)}`]),
    ...(free_disk_bytes === null ? [] : [`${writeBytes(free_disk_bytes)} of the disk free`]),
  ].join(", ");
}

function drawCrash(
  { at, run_id, call: hung, runs }: NonNullable<InstallationStatus["crash"]>,
  since: (at: string) => string,
): string {
  const what = hung === null ? "" : ` in call ${hung} of run ${run_id}`;
  return `a process hung${what} and was ended ${since(at)} with ${count(runs, "run")}`;
}

export const commands: readonly Command[] = [
  {
    name: "status",
    help: "Show the server, its data, its models and the work that waits",
    example: "wadi status --server http://127.0.0.1:8080",
    async run(input, output) {
      const status = await call(input, operations.status, {});
      output.print(status, drawStatus(status, output));
      return 0;
    },
  },
  {
    name: "config",
    help: "List every setting with its value and origin, without secrets",
    example: "wadi config --config wadi.toml",
    async run(input, output) {
      const rows = await callWithoutData(input, operations.config, {}, () =>
        listSettings(readGivenSettings(input, { wantsApiKeys: false })),
      );
      const lines = rows.map((row) => ({
        ...row,
        value: row.value === null ? null : writeValue(row.value),
      }));
      return printTable(output, rows as unknown as OutputRow[], ["name", "value", "origin"], lines);
    },
  },
];
