// Requests: the live tail, newest first, with one row explained.

import { useSignal } from "@preact/signals";
import { writeCommand, writeLocal } from "../curl.ts";
import { useQuery } from "../filters.tsx";
import { shortenId } from "../format.ts";
import { now, useResource } from "../live.ts";
import { type NewestRows, useHeldRows, useNewestRows, useScrolled } from "../newest-rows.ts";
import { copyText, Empty, FailureNote, Outside } from "../parts.tsx";
import { Loading } from "../resource.tsx";
import { route, useLocation } from "../router.ts";
import { ListEnd, WaitingRows } from "../row-pages.tsx";
import { useRows } from "../rows.ts";
import { type KeyHint, Page } from "../shell.tsx";
import { t } from "../texts.ts";
import { RequestFilters, writeSearch } from "./filters.tsx";
import type { RequestRow } from "./row.ts";
import { RequestTable } from "./table.tsx";

const HINTS: readonly KeyHint[] = [
  { keys: ["J", "K"], text: "keys.move" },
  { keys: ["Space"], text: "keys.explain" },
  { keys: ["."], text: "keys.pause" },
  { keys: ["/"], text: "keys.search" },
];
const RATE_MS = 10_000;
const ROWS_MAX = 1_000;

/** Rows a second in the last ten, by the ends of the held ones. */
function countRate(rows: readonly RequestRow[], nowMs: number): string | undefined {
  const since = nowMs - RATE_MS;
  const recent = rows.filter(({ at, duration_ms }) => Date.parse(at) + duration_ms >= since);
  const rate = recent.length / (RATE_MS / 1_000);
  if (rate === 0) return undefined;
  return t("requests.rate", rate >= 10 ? String(Math.round(rate)) : rate.toFixed(1));
}

/** The row of the address, which the tail or the id of a request gives, and how to change it. */
function useOpened(listed: readonly RequestRow[] | null) {
  const { id: asked = null, search } = useLocation();
  const isAlone = asked !== null && listed !== null && !listed.some(({ id }) => id === asked);
  // Rows that the tail does not hold: older ones, or those of a request id.
  const found = useResource<RequestRow[]>(
    isAlone ? `/requests/${encodeURIComponent(asked)}` : null,
  ).value;
  return {
    asked,
    isAlone,
    failure: found.failure,
    rows: isAlone ? (found.data ?? []) : (listed ?? []),
    opened: isAlone ? (found.data?.[0]?.id ?? null) : asked,
    open(id: string | null) {
      route(`/console/requests${id === null ? "" : `/${id}`}${search}`, true);
    },
  };
}

export function Requests() {
  const [query, change] = useQuery();
  const { id } = useLocation();
  const search = writeSearch(query);
  const hasChosen = useSignal(false);
  const tail = useNewestRows<RequestRow>(
    `/requests?${search}${search && "&"}`,
    "requests",
    ROWS_MAX,
  );
  const { loaded } = tail;
  const held = useHeldRows(
    loaded?.path ?? "",
    loaded?.rows ?? null,
    useScrolled() || Boolean(id) || hasChosen.value,
  );
  const { asked, isAlone, failure, rows, opened, open } = useOpened(held.rows);
  const toggle = (id: string) => open(id === opened ? null : id);
  const chosen = useRows(rows, {
    onOpen: toggle,
    onPeek: toggle,
    onCopy: (id) => void copyText(rows.find((row) => row.id === id)?.request_id ?? id),
    onClose: () => open(null),
  });
  hasChosen.value = chosen.value !== null;
  const command = writeCommand(
    "requests",
    ...(isAlone ? ["show", asked ?? ""] : listFlags(search)),
  );
  const showWaiting = () => {
    scrollTo(0, 0);
    chosen.value = null;
    held.letIn();
  };
  return (
    <Page
      title="page.requests"
      says={countRate(held.rows ?? [], now.value)}
      {...{ command }}
      hints={HINTS}
    >
      <RequestFilters rows={held.rows ?? []} />
      <Unread tail={tail} />
      {isAlone && <Alone asked={asked!} {...{ failure }} onLeave={() => open(null)} />}
      {!isAlone && <WaitingRows count={held.waiting} onLetIn={showWaiting} />}
      {rows.length > 0 && (
        <RequestTable
          {...{ rows, opened }}
          chosen={chosen.value}
          onToggle={({ id }) => {
            chosen.value = id === opened ? null : id;
            toggle(id);
          }}
        />
      )}
      {!isAlone && held.rows?.length === 0 && (
        <Nothing isFiltered={search !== ""} onClear={() => change(NO_FILTERS)} />
      )}
      {!isAlone && <ListEnd list={tail} rows={rows.length} rowsMax={ROWS_MAX} />}
      <div class="grow" />
    </Page>
  );
}

function Unread({ tail }: { tail: NewestRows<RequestRow> }) {
  if (!tail.failure) return tail.loaded === null ? <Loading /> : null;
  return (
    <div class="page">
      <FailureNote what={t("page.requests")} failure={tail.failure} />
    </div>
  );
}

const NO_FILTERS = { status: "", model: "", account: "", key: "", code: "", slower_than_ms: "" };

interface AloneProps {
  asked: string;
  failure: { status: number } | null;
  onLeave(): void;
}

/** Stands above rows that are found by an id, and not of the tail. */
function Alone({ asked, failure, onLeave }: AloneProps) {
  const isMissing = failure !== null && (failure.status === 404 || failure.status === 400);
  return (
    <p class="page row alone">
      {isMissing ? <Outside text={t("requests.missing", shortenId(asked))} /> : t("requests.alone")}
      <a
        href="/console/requests"
        onClick={(event) => {
          event.preventDefault();
          onLeave();
        }}
      >
        {t("requests.list")}
      </a>
    </p>
  );
}

function Nothing({ isFiltered, onClear }: { isFiltered: boolean; onClear(): void }) {
  return (
    <div class="page">
      {isFiltered ? (
        <p class="row">
          {t("requests.none_match")}
          <button class="b" type="button" onClick={onClear}>
            {t("requests.clear")}
          </button>
        </p>
      ) : (
        <Empty text={t("requests.empty")} command={writeLocal("chat")} />
      )}
    </div>
  );
}

/** The filters of the address as flags of the command. */
function listFlags(search: string): string[] {
  const flags = [...new URLSearchParams(search)].flatMap(([name, value]) => {
    const flag = name === "slower_than_ms" ? "slower" : name;
    return [`--${flag}`, name === "slower_than_ms" ? `${Number(value) / 1_000}s` : value];
  });
  return ["follow", ...flags];
}
