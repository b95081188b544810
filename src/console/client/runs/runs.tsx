// The list of runs: active ones first, then the newest.

import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { writeCommand } from "../curl.ts";
import { useQuery } from "../filters.tsx";
import { TryApproval } from "../first-approval.tsx";
import { useResource } from "../live.ts";
import { useScrolled } from "../newest-rows.ts";
import { copyText, Empty, FailureNote } from "../parts.tsx";
import { route } from "../router.ts";
import { ListEnd, WaitingRows } from "../row-pages.tsx";
import { useRows } from "../rows.ts";
import { type KeyHint, Page } from "../shell.tsx";
import { writeCount } from "../texts/plural.ts";
import { t } from "../texts.ts";
import { RunFilters, type RunListFilter, readFilter, type StatusCounts } from "./filter.tsx";
import { ROWS_MAX, type RunItem, type RunList, useRunList } from "./list.ts";
import { Peek } from "./peek.tsx";
import { isActive, Selection } from "./selection.tsx";
import { type RowMarks, RunTable } from "./table.tsx";

const PATH = "/console/runs";
const HINTS: readonly KeyHint[] = [
  { keys: ["J", "K"], text: "keys.move" },
  { keys: ["Enter"], text: "keys.open" },
  { keys: ["Space"], text: "keys.peek" },
  { keys: ["/"], text: "keys.search" },
];

export function Runs() {
  const [query] = useQuery();
  const filter = readFilter(query);
  const { search, since, status } = filter;
  const counted = useResource<StatusCounts>(`/run-counts?${since}${search}`, ["runs"]).value.data;
  const marks = useMarks();
  const { selected, peeked } = marks;
  const isHeld = useScrolled() || selected.value.size > 0 || peeked.value !== null;
  const list = useRunList(search + (status && `status=${status}&`), since, isHeld);
  const rows = list.rows ?? [];
  const chosen = useMarkKeys(rows, marks);
  const active = counted ? countRuns(counted, isActive) : 0;
  const clear = () => {
    selected.value = new Set();
    peeked.value = null;
  };
  return (
    <Page
      title="page.runs"
      says={counted ? sayCounts(filter, counted, active) : undefined}
      command={filter.command}
      hints={HINTS}
    >
      <RunFilters filter={filter} counts={counted?.counts ?? {}} />
      <Selection runs={rows.filter(({ id }) => selected.value.has(id))} onClear={clear} />
      <Rows
        list={list}
        marks={{ chosen, selected: selected.value, onSelect: marks.toggle }}
        onLetIn={() => {
          clear();
          scrollTo(0, 0);
        }}
      />
      {list.rows?.length === 0 && <Nothing filter={filter} />}
      {peeked.value !== null && <Peek id={peeked.value} onClose={clear} />}
    </Page>
  );
}

function countRuns({ counts }: StatusCounts, matches: (run: { status: string }) => boolean) {
  return Object.entries(counts).reduce((sum, [status, number = 0]) => {
    return sum + (matches({ status }) ? number : 0);
  }, 0);
}

function sayCounts({ range }: RunListFilter, counted: StatusCounts, active: number): string {
  const all = writeCount(countRuns(counted, () => true));
  return t(`runs.says.${range}`, active, counted.is_partial ? t("runs.over", all) : all);
}

interface Marks {
  selected: Signal<ReadonlySet<string>>;
  /** The run that is shown at the side. */
  peeked: Signal<string | null>;
  toggle(id: string): void;
}

function useMarks(): Marks {
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const peeked = useSignal<string | null>(null);
  return {
    selected,
    peeked,
    toggle(id) {
      const next = new Set(selected.peek());
      if (!next.delete(id)) next.add(id);
      selected.value = next;
    },
  };
}

/** Returns where `j` and `k` stand. */
function useMarkKeys(rows: readonly RunItem[], { selected, peeked }: Marks): string | null {
  const chosen = useRows(rows, {
    onOpen: (id) => route(`${PATH}/${id}`),
    onPeek: (id) => {
      peeked.value = peeked.peek() === id ? null : id;
    },
    onMark: (id) => {
      selected.value = new Set([...selected.peek(), id]);
    },
    onCopy: copyText,
    onClose: () => {
      peeked.value = null;
      selected.value = new Set();
    },
  });
  useEffect(() => {
    // A peek that is open follows the row.
    if (peeked.peek() !== null && chosen.value !== null) peeked.value = chosen.value;
  }, [chosen.value]);
  return chosen.value;
}

interface RowsProps {
  list: RunList;
  marks: RowMarks;
  onLetIn(): void;
}

function Rows({ list, marks, onLetIn }: RowsProps) {
  const { rows, failure, waiting, isBusy } = list;
  return (
    <div aria-busy={isBusy}>
      {failure && <FailureNote what={t("page.runs")} failure={failure} />}
      <WaitingRows count={waiting} onLetIn={onLetIn} />
      {rows && rows.length > 0 && <RunTable rows={rows} marks={marks} />}
      {!rows && !failure && <Bars />}
      {rows && <ListEnd list={list} rows={rows.length} rowsMax={ROWS_MAX} />}
    </div>
  );
}

const BARS = [60, 45, 70, 52, 64, 38];

/** Stands for rows that are being read, where that takes longer. */
function Bars() {
  return (
    <div class="bars" aria-hidden="true">
      {BARS.map((width) => (
        <span class="sk" key={width} style={{ "--w": `${width}%` }} />
      ))}
    </div>
  );
}

function Nothing({ filter: { isFiltered, range } }: { filter: RunListFilter }) {
  const [, change] = useQuery();
  const isNarrow = isFiltered || range !== "all";
  const counted = useResource<StatusCounts>(isNarrow ? "/run-counts" : null, ["runs"]).value.data;
  const all = counted ? countRuns(counted, () => true) : 0;
  if (isNarrow && !counted) return null;
  return (
    <div class="page">
      {all === 0 ? (
        <Empty
          text={t("runs.empty")}
          command={writeCommand("runs", "start", "AGENT_ID", "Summarise today")}
        >
          <TryApproval />
        </Empty>
      ) : (
        <div class="empty">
          <p>{t("runs.empty.filtered", all)}</p>
          <button
            class="b"
            type="button"
            onClick={() =>
              change({ status: "", agent: "", account: "", started: "", q: "", range: "all" })
            }
          >
            {t("runs.clear")}
          </button>
        </div>
      )}
    </div>
  );
}
