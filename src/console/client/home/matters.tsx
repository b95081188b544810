// Matters that need a person now, worst first.

import type { ComponentChildren } from "preact";
import { writeCommand } from "../curl.ts";
import { DAY_MS, writeMinute, writeSpan } from "../format.ts";
import { Outside } from "../parts.tsx";
import { writeCount } from "../texts/plural.ts";
import { t } from "../texts.ts";
import type { FailureCounts, HomeData, HomeModel, HomeToolServer } from "./data.ts";

export interface Matter {
  tone: "warn" | "bad" | "over";
  shape: string;
  title: string;
  says?: string;
  /** Parts that stand where the texts say `{0}`. */
  parts?: readonly ComponentChildren[];
  link?: { href: string; text: string };
}

type MaybeMatter = Matter | false | null | undefined;

/** Free bytes below which the disk needs a person. */
const DISK_BYTES_MIN = 2 ** 30;
/** Time before the end of a certificate at which it should be renewed. */
const CERTIFICATE_MS = 14 * DAY_MS;
/** A newest backup of this age means that the timer does not work. */
const BACKUP_AGE_MS = 2 * DAY_MS;
const NEAR_SHARE = 0.8;

/** The order is by what cannot wait: first what stops all work, then people, then the rest. */
export function listMatters(data: HomeData, nowMs: number): Matter[] {
  const matters: MaybeMatter[] = [
    ...listStops(data, nowMs),
    ...listWork(data, nowMs),
    ...listEndpoints(data),
    ...data.models.map(describeModel),
    ...data.toolServers.map(describeToolServer),
    ...listBudgets(data, nowMs),
    ...listUpkeep(data, nowMs),
  ];
  return matters.filter((matter): matter is Matter => Boolean(matter));
}

function listStops({ status }: HomeData, nowMs: number): MaybeMatter[] {
  const { installation, database, server } = status;
  const free = database.free_disk_bytes;
  const end = server?.certificate_expires_at ?? null;
  return [
    installation.paused_at !== null && {
      ...{ tone: "warn", shape: "paused", title: t("home.paused") },
      says: t("home.paused.says"),
      parts: [<code key="code">{writeCommand("resume")}</code>],
    },
    free !== null &&
      free < DISK_BYTES_MIN && {
        ...{ tone: "bad", shape: "failed", title: t("home.disk") },
        says: t("home.disk.says", `${Math.round(free / 2 ** 20)} MB`),
        link: { href: "/docs/data", text: t("home.disk.open") },
      },
    end !== null &&
      Date.parse(end) < nowMs && {
        ...{ tone: "bad", shape: "failed", title: t("home.certificate.over") },
        says: t("home.certificate.over.says"),
        link: { href: "/docs/deployment", text: t("home.certificate.open") },
      },
  ];
}

function listWork({ status, failures }: HomeData, nowMs: number): MaybeMatter[] {
  const { approvals, runs } = status;
  const since = (at: string) => writeSpan(nowMs - Date.parse(at));
  const left = (at: string) => writeSpan(Date.parse(at) - nowMs);
  const { oldest_requested_at: oldest, next_expires_at: next } = approvals;
  return [
    approvals.pending > 0 && {
      ...{ tone: "warn", shape: "waiting", title: t("home.approvals", approvals.pending) },
      ...(oldest && next && { says: t("home.approvals.oldest", since(oldest), left(next)) }),
      link: { href: "/console/approvals", text: t("home.approvals.open") },
    },
    runs.suspects > 0 && {
      ...{ tone: "bad", shape: "failed", title: t("home.suspects", runs.suspects) },
      says: t("home.suspects.says"),
      link: { href: "/console/runs", text: t("home.runs.open") },
    },
    failures &&
      failures.runs > 0 && {
        ...{ tone: "bad", shape: "failed", title: t("home.failed", failures.runs) },
        says: describeFailures(failures),
        parts: [<code key="code">{failures.code || t("home.failed.no_code")}</code>],
        link: { href: "/console/runs?status=failed", text: t("home.runs.show") },
      },
  ];
}

function describeFailures({ runs, code_runs, first_at, last_at }: FailureCounts): string {
  const [first, last] = [writeMinute(first_at!), writeMinute(last_at!)];
  return runs === code_runs
    ? t("home.failed.all", first, last)
    : t("home.failed.some", code_runs, first, last);
}

function listEndpoints({ endpoints, status }: HomeData): MaybeMatter[] {
  const disabled = status.webhooks.disabled_endpoints;
  const failing = endpoints.filter(
    ({ status: state, failing_since }) => state === "enabled" && failing_since !== null,
  );
  return [
    ...failing.map(({ id, url, failing_since, pending_deliveries, last_status }): Matter => {
      const host = URL.parse(url)?.host ?? url;
      return {
        ...{ tone: "bad", shape: "failed" },
        title: t("home.endpoint", writeMinute(failing_since!)),
        says: t("home.endpoint.says", pending_deliveries, last_status ?? null),
        parts: [<Outside key="host" text={host} />],
        link: { href: `/console/webhooks/${id}`, text: t("home.endpoint.open") },
      };
    }),
    disabled > 0 && {
      ...{ tone: "warn", shape: "blocked", title: t("home.disabled", disabled) },
      link: { href: "/console/webhooks", text: t("home.disabled.open") },
    },
  ];
}

function describeModel(model: HomeModel): MaybeMatter {
  const { id, state, replicas, healthy_replicas, unit } = model;
  if (state !== "on") return null;
  const link = { href: "/console/models", text: t("home.model.open") };
  const parts = [<Outside key="model" text={id} />];
  if (unit === "failed") {
    const says = t("home.model.unstarted.says");
    return {
      ...{ tone: "bad", shape: "down", title: t("home.model.unstarted"), says, parts, link },
    };
  }
  // A sleeping server is started by the next request.
  if (!["none", "up"].includes(unit)) return null;
  if (healthy_replicas === null || healthy_replicas >= replicas) return null;
  if (healthy_replicas === 0) {
    const says = t("home.model.down.says");
    return { ...{ tone: "bad", shape: "down", title: t("home.model.down"), says, parts, link } };
  }
  const down = replicas - healthy_replicas;
  return {
    ...{ tone: "warn", shape: "starting", title: t("home.model.degraded", down, replicas) },
    ...{ says: t("home.model.degraded.says", healthy_replicas), parts, link },
  };
}

function describeToolServer({ id, name, problem, changed }: HomeToolServer): MaybeMatter {
  const parts = [<Outside key="name" text={name} />];
  const link = { href: `/console/mcp/${id}`, text: t("home.tools.open") };
  if (problem) {
    return { ...{ tone: "bad", shape: "failed", title: t("home.tools.unread") }, parts, link };
  }
  if (changed === 0) return null;
  const title = t("home.tools.changed", changed);
  return {
    ...{ tone: "warn", shape: "waiting", title, says: t("home.tools.says") },
    ...{ parts, link },
  };
}

function listBudgets({ limits }: HomeData, nowMs: number): MaybeMatter[] {
  return limits.map((limit): MaybeMatter => {
    const [used, maximum] = [Number(limit.used), Number(limit.maximum)];
    const share = maximum > 0 ? used / maximum : 1;
    // The limit of a minute is over before a person can act.
    if (share < NEAR_SHARE || limit.period === "minute") return null;
    const percent = Math.floor(share * 100);
    const left = writeSpan(Date.parse(limit.resets_at) - nowMs);
    const amount = (value: number) =>
      limit.measure === "cost" ? value.toFixed(2) : writeCount(value);
    const unit = limit.measure === "cost" ? "SAR" : t(`home.measure.${limit.measure}`);
    return {
      ...{ tone: "over", shape: "over" },
      title: t(`home.budget.${limit.period}`, percent),
      says: t("home.budget.says", amount(used), amount(maximum), unit, left),
      parts: [<Outside key="account" text={limit.account} />],
      link: { href: "/console/keys", text: t("home.budget.open") },
    };
  });
}

function listUpkeep({ status }: HomeData, nowMs: number): MaybeMatter[] {
  const { server, clock, crash } = status;
  const backups = server?.backups;
  const end = server?.certificate_expires_at ?? null;
  const leftMs = end === null ? Number.POSITIVE_INFINITY : Date.parse(end) - nowMs;
  const open = { href: "/docs/backup", text: t("home.backup.open") };
  const ageMs = backups?.made_at ? nowMs - Date.parse(backups.made_at) : 0;
  return [
    leftMs > 0 &&
      leftMs < CERTIFICATE_MS && {
        ...{ tone: "warn", shape: "expired" },
        title: t("home.certificate", writeSpan(leftMs)),
        link: { href: "/docs/deployment", text: t("home.certificate.open") },
      },
    backups?.failure
      ? {
          ...{ tone: "bad", shape: "failed", title: t("home.backup"), says: "{0}" },
          parts: [<Outside key="failure" text={backups.failure} />],
          link: open,
        }
      : ageMs > BACKUP_AGE_MS && {
          ...{ tone: "warn", shape: "expired", title: t("home.backup.old", writeSpan(ageMs)) },
          link: open,
        },
    clock.is_doubtful && {
      ...{ tone: "warn", shape: "starting", title: t("home.clock") },
      says: t("home.clock.says"),
      link: { href: "/docs/data", text: t("home.clock.open") },
    },
    crash && {
      ...{ tone: "warn", shape: "failed", title: t("home.crash") },
      says: t("home.crash.says", writeSpan(nowMs - Date.parse(crash.at))),
      link: { href: "/console/runs", text: t("home.runs.open") },
    },
  ];
}
