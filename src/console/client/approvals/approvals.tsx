// The inbox of approvals: those that wait by their end, then those decided today.
import { Fragment } from "preact";
import { useEffect } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import { shortenId, writeClock, writeSpan } from "../format.ts";
import { useKeys } from "../keyboard.ts";
import { now, useResource } from "../live.ts";
import { Empty, FailureNote, Icon, Outside } from "../parts.tsx";
import { type KeyHint, Page, setCount } from "../shell.tsx";
import { t } from "../texts.ts";
import type { ListedApproval } from "./data.ts";
import { Sheet } from "./sheet.tsx";

const HINTS: readonly KeyHint[] = [
  { keys: ["J", "K"], text: "keys.move" },
  { keys: ["A"], text: "keys.approve" },
  { keys: ["X"], text: "keys.reject" },
];
const PATH = "/console/approvals";
const FILTERS = ["pending", "decided", "all"] as const;
const DECIDED = { approved: "ok", rejected: "rejected", expired: "expired", closed: "cancelled" };
const RISK_TONES = { read: "mute", write: "warn", irreversible: "bad" };

function Item({ approval, isOpen }: { approval: ListedApproval; isOpen: boolean }) {
  const { id, tool, risk, status, account, agent_id, agent_name, preview } = approval;
  const { decided_at, expires_at } = approval;
  const isPending = status === "pending";
  const href = `${PATH}/${id}${location.search}`;
  return (
    <a class={isPending ? "item" : "item past"} href={href} aria-current={isOpen || undefined}>
      {isPending ? (
        <Icon id={`s-${risk}`} size={12} tone={RISK_TONES[risk]} />
      ) : (
        <Icon id={`s-${DECIDED[status]}`} size={12} tone={status === "approved" ? "ok" : "mute"} />
      )}
      <b class="cut">
        <bdi>{tool}</bdi>
      </b>
      <time dateTime={isPending ? expires_at : (decided_at ?? "")}>
        {isPending
          ? writeSpan(Date.parse(expires_at) - now.value)
          : decided_at && writeClock(decided_at).slice(0, 5)}
      </time>
      <span class="parts">
        {!isPending && (
          <>
            {t(`status.${status}`)}
            <span class="dot">·</span>
          </>
        )}
        <Outside text={agent_name ?? shortenId(agent_id)} cut />
        <span class="dot">·</span>
        <bdi class="cut">{account}</bdi>
      </span>
      {preview.length > 0 && (
        <span class="parts dim">
          {preview.map((value, at) => (
            <Fragment key={at}>
              {at > 0 && <span class="dot">·</span>}
              <Outside text={value} cut />
            </Fragment>
          ))}
        </span>
      )}
    </a>
  );
}

function List({ title, rows, open }: { title: string; rows: ListedApproval[]; open?: string }) {
  if (rows.length === 0) return null;
  return (
    <>
      <h2>
        {title} <span>{rows.length}</span>
      </h2>
      {rows.map((row) => (
        <Item key={row.id} approval={row} isOpen={row.id === open} />
      ))}
    </>
  );
}

/** Sorts those that wait by their end, and decided ones by their decision, newest first. */
function sort(
  rows: readonly ListedApproval[],
  filter: string,
): Record<"waits" | "past", ListedApproval[]> {
  const waits = rows
    .filter(({ status }) => status === "pending")
    .toSorted((a, b) => a.expires_at.localeCompare(b.expires_at));
  const today = new Date().toDateString();
  const past = rows
    .filter(({ status }) => status !== "pending")
    .filter(({ decided_at }) => {
      return filter !== "pending" || new Date(decided_at ?? 0).toDateString() === today;
    })
    .toSorted((a, b) => (b.decided_at ?? "").localeCompare(a.decided_at ?? ""));
  return { waits: filter === "decided" ? [] : waits, past };
}

function Filters({ current }: { current: string }) {
  const { route } = useLocation();
  return (
    <span class="seg wide" role="group" aria-label={t("approvals.show")}>
      {FILTERS.map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={current === name}
          onClick={() => route(name === "pending" ? PATH : `${PATH}?show=${name}`)}
        >
          {t(`approvals.filter.${name}`)}
        </button>
      ))}
    </span>
  );
}

export function Approvals() {
  const { params } = useRoute();
  const { query, route } = useLocation();
  const open = params.id;
  const filter = query.show ?? "pending";
  const list = useResource<ListedApproval[]>("/approvals?limit=500", ["approvals"]);
  const { data, failure } = list.value;
  const { waits, past } = sort(data ?? [], filter);
  const rows = [...waits, ...past];
  useEffect(() => {
    if (!data) return;
    const number = data.filter(({ status }) => status === "pending").length;
    setCount(PATH, { number, hot: "waiting" });
  }, [data]);
  const move = (by: number) => {
    const at = rows.findIndex(({ id }) => id === open);
    const next = rows[Math.min(Math.max(at + by, 0), rows.length - 1)];
    if (next) route(`${PATH}/${next.id}${location.search}`);
  };
  useKeys({ j: () => move(1), k: () => move(-1), Escape: () => route(PATH + location.search) });
  const decided = () => {
    list.reload();
    const next = waits.find(({ id }) => id !== open);
    route(next ? `${PATH}/${next.id}` : PATH);
  };
  return (
    <Page
      title="page.approvals"
      says={
        data
          ? t("approvals.waiting", data.filter((row) => row.status === "pending").length)
          : undefined
      }
      command={open ? `wadi approvals show ${shortenId(open)}` : "wadi approvals list"}
      hints={HINTS}
      isFixed
      before={
        open && (
          <a class="back" href={PATH} aria-label={t("approvals.back")}>
            <Icon id="i-back" tone="flip" />
          </a>
        )
      }
      end={<Filters current={filter} />}
    >
      <div class={open ? "split open" : "split"}>
        <section class="list" aria-label={t("page.approvals")} aria-busy={!data && !failure}>
          {failure && <FailureNote what={t("page.approvals")} failure={failure} />}
          {data && waits.length === 0 && filter !== "decided" && (
            <div class="page">
              <Empty text={t("approvals.empty")} command="wadi approvals list" />
            </div>
          )}
          <List title={t("approvals.list.waiting")} rows={waits} open={open} />
          <List title={t("approvals.list.decided")} rows={past} open={open} />
        </section>
        {open ? (
          <Sheet key={open} id={open} onDecided={decided} />
        ) : (
          <article class="ask wide">
            {rows.length > 0 && <p class="page soft">{t("approvals.choose")}</p>}
          </article>
        )}
      </div>
    </Page>
  );
}
