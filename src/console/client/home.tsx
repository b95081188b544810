// Home: what needs a person now, and what runs.
import { useEffect } from "preact/hooks";
import { shortenId, writeSpan } from "./format.ts";
import { now, useResource } from "./live.ts";
import { Ago, FailureNote, Head, Icon, Money, Outside, RunState } from "./parts.tsx";
import { type KeyHint, Page, setCount, version } from "./shell.tsx";
import { t } from "./texts.ts";

export interface HomeStatus {
  version: string;
  installation: { paused_at: string | null };
  server: { backups: { made_at: string | null; failure: string | null } | null } | null;
  database: { free_disk_bytes: number | null };
  models: { id: string; state: string; replicas: number; healthy_replicas: number | null }[];
  runs: { queued: number; running: number; waiting_approval: number; suspects: number };
  approvals: { pending: number; oldest_requested_at: string | null };
  webhooks: { waiting_deliveries: number; failing_endpoints: number; disabled_endpoints: number };
  clock: { is_doubtful: boolean };
  crash: { at: string } | null;
}

export interface RunLine {
  id: string;
  account: string;
  agent_id: string;
  agent_name: string | null;
  title: string;
  status: string;
  cost?: string | null;
  created_at: string;
  finished_at?: string | null;
}

interface Matter {
  tone: "warn" | "bad" | "over";
  shape: string;
  title: string;
  says?: string;
  link?: { href: string; text: string };
}

/** Free bytes below which the disk needs a person. */
const DISK_BYTES_MIN = 2 ** 30;

/** Lists what needs a person, worst first. */
function listMatters(status: HomeStatus, nowMs: number): Matter[] {
  const { approvals, runs, webhooks, models, server, installation, clock, crash } = status;
  const { free_disk_bytes } = status.database;
  const down = models.filter(({ state, healthy_replicas: up, replicas }) => {
    return state !== "on" || (up !== null && up < replicas);
  });
  const matters: (Matter | false | null)[] = [
    installation.paused_at !== null && {
      ...{ tone: "warn", shape: "paused", title: t("home.paused"), says: t("home.paused.says") },
    },
    approvals.pending > 0 && {
      ...{ tone: "warn", shape: "waiting", title: t("home.approvals", approvals.pending) },
      ...(approvals.oldest_requested_at && {
        says: t(
          "home.approvals.oldest",
          writeSpan(nowMs - Date.parse(approvals.oldest_requested_at)),
        ),
      }),
      link: { href: "/console/approvals", text: t("home.approvals.open") },
    },
    runs.suspects > 0 && {
      ...{ tone: "bad", shape: "failed", title: t("home.suspects", runs.suspects) },
    },
    webhooks.failing_endpoints > 0 && {
      ...{ tone: "bad", shape: "failed", title: t("home.endpoints", webhooks.failing_endpoints) },
      says: t("home.endpoints.waiting", webhooks.waiting_deliveries),
    },
    webhooks.disabled_endpoints > 0 && {
      ...{ tone: "warn", shape: "blocked" },
      title: t("home.disabled", webhooks.disabled_endpoints),
    },
    ...down.map(({ id, state, replicas, healthy_replicas }): Matter => {
      const up = healthy_replicas ?? replicas;
      if (state !== "on")
        return { tone: "warn", shape: "off", title: t("home.model.off", id, state) };
      const title = t("home.model", id, up, replicas);
      return { tone: up === 0 ? "bad" : "warn", shape: up === 0 ? "down" : "starting", title };
    }),
    server?.backups?.failure
      ? { tone: "bad", shape: "failed", title: t("home.backup"), says: server.backups.failure }
      : null,
    free_disk_bytes !== null &&
      free_disk_bytes < DISK_BYTES_MIN && {
        ...{ tone: "bad", shape: "failed", title: t("home.disk") },
        says: t("home.disk.says", `${Math.round(free_disk_bytes / 2 ** 20)} MB`),
      },
    clock.is_doubtful && { tone: "warn", shape: "starting", title: t("home.clock") },
    crash && { tone: "warn", shape: "failed", title: t("home.crash") },
  ];
  return matters.filter((matter): matter is Matter => Boolean(matter));
}

function Needs({ status }: { status: HomeStatus }) {
  const matters = listMatters(status, now.value);
  return (
    <section>
      <Head
        title={t("home.needs")}
        says={matters.length > 0 ? String(matters.length) : undefined}
      />
      {matters.length === 0 ? (
        <p class="soft">{t("home.nothing")}</p>
      ) : (
        <ul class="need">
          {matters.map(({ tone, shape, title, says, link }) => (
            <li key={title}>
              <Icon id={`s-${shape}`} size={12} tone={tone} />
              <p>
                <b>{title}</b> {says && <span>{says}</span>}
              </p>
              {link && <a href={link.href}>{link.text}</a>}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

const STATUS_TOPICS = ["approvals", "models", "runs", "webhooks"] as const;
const RUNS_SHOWN = 8;
const ACTIVE = new Set(["queued", "running", "waiting_approval"]);

function Running({ status }: { status: HomeStatus }) {
  const { value } = useResource<RunLine[]>("/runs?limit=100", ["runs"]);
  const active = value.data?.filter((run) => ACTIVE.has(run.status)).slice(0, RUNS_SHOWN);
  const { running, queued, waiting_approval } = status.runs;
  return (
    <section>
      <Head title={t("home.running")} says={t("home.active", running + waiting_approval, queued)} />
      {value.failure && <FailureNote what={t("page.runs")} failure={value.failure} />}
      {active?.length === 0 && <p class="soft">{t("home.running.none")}</p>}
      {active && active.length > 0 && <RunTable runs={active} />}
    </section>
  );
}

function RunTable({ runs }: { runs: readonly RunLine[] }) {
  return (
    <table class="t">
      <thead>
        <tr>
          <th>{t("column.state")}</th>
          <th class="w">{t("column.run")}</th>
          <th class="p2">{t("column.agent")}</th>
          <th class="n">{t("column.for")}</th>
          <th class="n">{t("column.sar")}</th>
        </tr>
      </thead>
      <tbody>
        {runs.map(({ id, title, agent_name, agent_id, status, cost, created_at }) => (
          <tr key={id}>
            <td>
              <RunState status={status} />
            </td>
            <td class="w cut">
              <Outside text={title} />
            </td>
            <td class="p2 nw soft">
              <Outside text={agent_name ?? shortenId(agent_id)} />
            </td>
            <td class="n">
              <Ago at={created_at} />
            </td>
            <td class="n">
              <Money sum={cost} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const HINTS: readonly KeyHint[] = [{ keys: ["G", "A"], text: "keys.approvals" }];

export function Home() {
  const { value } = useResource<HomeStatus>("/status", STATUS_TOPICS);
  const { data, failure } = value;
  useEffect(() => {
    if (!data) return;
    version.value = data.version;
    setCount("/console/approvals", { number: data.approvals.pending, hot: "waiting" });
    const { failing_endpoints: failing, disabled_endpoints: disabled } = data.webhooks;
    setCount("/console/webhooks", { number: failing + disabled, hot: "failed" });
  }, [data]);
  return (
    <Page title="page.home" command="wadi status" hints={HINTS}>
      <div class="page" aria-busy={!data && !failure}>
        {failure && <FailureNote what={t("page.home")} failure={failure} />}
        {data && (
          <>
            <Needs status={data} />
            <Running status={data} />
          </>
        )}
      </div>
    </Page>
  );
}
