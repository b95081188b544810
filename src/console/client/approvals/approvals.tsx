// The inbox of approvals: those that wait by their end, then those decided today.

import { type ApiFailure, session } from "../api.ts";
import { writeCommand } from "../curl.ts";
import { TryApproval } from "../first-approval.tsx";
import { shortenId } from "../format.ts";
import { useKeys } from "../keyboard.ts";
import { useResource } from "../live.ts";
import { copyText, Empty, Icon, Segment, showToast } from "../parts.tsx";
import { Unready } from "../resource.tsx";
import { route, useLocation } from "../router.ts";
import { type KeyHint, Page } from "../shell.tsx";
import { t } from "../texts.ts";
import type { ListedApproval } from "./data.ts";
import type { Outcome } from "./decision.tsx";
import { Items, sortByEnd } from "./list.tsx";
import { Sheet } from "./sheet.tsx";

const HINTS: readonly KeyHint[] = [
  { keys: ["J", "K"], text: "keys.move" },
  { keys: ["A"], text: "keys.approve" },
  { keys: ["X"], text: "keys.reject" },
];
const PATH = "/console/approvals";
const FILTERS = ["pending", "decided", "all"] as const;
type Filter = (typeof FILTERS)[number];

/** Sorts those that wait by their end, and decided ones by their decision, newest first. */
function sort(rows: readonly ListedApproval[], filter: Filter) {
  const today = new Date().toDateString();
  const past = rows
    .filter(({ status }) => status !== "pending")
    .filter(({ decided_at }) => {
      return filter !== "pending" || new Date(decided_at ?? 0).toDateString() === today;
    })
    .toSorted((a, b) => (b.decided_at ?? "").localeCompare(a.decided_at ?? ""));
  return { waits: filter === "decided" ? [] : sortByEnd(rows), past };
}

/** Reads those that wait apart, so that many newer ones do not hide them. */
function useApprovals() {
  const waiting = useResource<ListedApproval[]>("/approvals?status=pending&limit=500", [
    "approvals",
  ]);
  const newest = useResource<ListedApproval[]>("/approvals?limit=200", ["approvals"]);
  const { data: pending } = waiting.value;
  const { data: others } = newest.value;
  const rows = pending &&
    others && [...pending, ...others.filter((row) => row.status !== "pending")];
  return {
    rows,
    failure: waiting.value.failure ?? newest.value.failure,
    reload() {
      waiting.reload();
      newest.reload();
    },
  };
}

const isOperator = () => session.value.kind === "signed_in" && session.value.role === "operator";

/** Reads what the waiting runs were asked, where the arguments of a call say nothing. */
function useTitles(waits: readonly ListedApproval[]): ReadonlyMap<string, string> {
  const isMute = isOperator() && waits.some(({ preview }) => preview.length === 0);
  const path = isMute ? "/runs?status=waiting_approval&limit=200" : null;
  const { data } = useResource<{ id: string; title: string }[]>(path, ["runs"]).value;
  return new Map((data ?? []).map(({ id, title }) => [id, title]));
}

interface ListProps {
  data: readonly ListedApproval[] | null;
  failure: ApiFailure | null;
  filter: Filter;
  waits: readonly ListedApproval[];
  past: readonly ListedApproval[];
  open: string | undefined;
  hrefOf(id: string): string;
}

function List({ data, failure, filter, waits, past, open, hrefOf }: ListProps) {
  const isPast = filter === "decided";
  const titles = useTitles(waits);
  const isEmpty = data !== null && waits.length === 0 && (!isPast || past.length === 0);
  return (
    <section class="list" aria-label={t("page.approvals")}>
      <Unready what={t("page.approvals")} resource={{ data, failure }} />
      {isEmpty && (
        <div class="page">
          <Empty
            text={t(isPast ? "approvals.empty.decided" : "approvals.empty")}
            command={writeCommand("approvals", "list")}
          >
            {data.length === 0 && isOperator() && <TryApproval />}
          </Empty>
        </div>
      )}
      <Items title={t("approvals.list.waiting")} rows={waits} {...{ titles, open, hrefOf }} />
      <Items
        title={t(filter === "pending" ? "approvals.list.decided" : "approvals.list.past")}
        rows={past}
        {...{ open, hrefOf }}
      />
    </section>
  );
}

function Filters({ filter }: { filter: Filter }) {
  return (
    <span class="wide">
      <Segment
        label={t("approvals.show")}
        value={filter}
        options={FILTERS.map((value) => ({ value, text: t(`approvals.filter.${value}`) }))}
        onChange={(value) => route(PATH + searchFor(value))}
      />
    </span>
  );
}

const searchFor = (filter: Filter) => (filter === "pending" ? "" : `?show=${filter}`);

/** Handles the keys of the list: the next or the previous one is opened. */
function useListKeys(
  rows: readonly ListedApproval[],
  open: string | undefined,
  hrefOf: (id?: string) => string,
): void {
  const move = (by: number) => {
    const at = rows.findIndex(({ id }) => id === open);
    const next = rows[Math.min(Math.max(at + by, 0), rows.length - 1)];
    if (!next) return;
    route(hrefOf(next.id));
    document.querySelector(`[data-row="${next.id}"]`)?.scrollIntoView({ block: "nearest" });
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    c: () => open && void copyText(open),
    Escape: () => route(hrefOf()),
  });
}

/** Says that it is done, with a link to the run for those who may see it. */
function showDone(outcome: Outcome, runId: string): void {
  const run = { href: `/console/runs/${runId}`, link: t("approvals.open_run") };
  showToast({ text: t(`approvals.done.${outcome}`), ...(isOperator() && run) });
}

export function Approvals() {
  const { id: open, query } = useLocation();
  const filter = FILTERS.find((one) => one === query.show) ?? "pending";
  const { rows: data, failure, reload } = useApprovals();
  const { waits, past } = sort(data ?? [], filter);
  const waiting = sortByEnd(data ?? []).length;
  const hrefOf = (id?: string) => (id ? `${PATH}/${id}` : PATH) + searchFor(filter);
  useListKeys([...waits, ...past], open, hrefOf);
  const decided = (outcome: Outcome, runId: string) => {
    reload();
    showDone(outcome, runId);
    route(hrefOf(waits.find(({ id }) => id !== open)?.id));
  };
  const back = (
    <a class="back" href={hrefOf()} aria-label={t("approvals.back")}>
      <Icon id="i-back" tone="flip" />
    </a>
  );
  const command = open
    ? writeCommand("approvals", "show", shortenId(open))
    : writeCommand("approvals", "list", "--status", "pending");
  return (
    <Page
      title="page.approvals"
      says={data ? t("approvals.waiting", waiting) : undefined}
      command={command}
      hints={HINTS}
      isFixed
      before={open && back}
      end={<Filters filter={filter} />}
    >
      <div class={open ? "split open" : "split"}>
        <List {...{ data, failure, filter, waits, past, open, hrefOf }} />
        {open ? (
          <Sheet
            key={open}
            id={open}
            status={data?.find(({ id }) => id === open)?.status}
            listHref={hrefOf()}
            onDecided={decided}
          />
        ) : (
          <article class="ask wide">
            {waits.length + past.length > 0 && <p class="page soft">{t("approvals.choose")}</p>}
          </article>
        )}
      </div>
    </Page>
  );
}
