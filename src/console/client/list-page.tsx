// A page that lists things of every account: states, accounts and a search in the address.
import type { ComponentChildren } from "preact";
import { quote } from "./curl.ts";
import { Chip, ChoiceMenu, FilterBar, SearchField, useQuery } from "./filters.tsx";
import { type LiveTopic, useResource } from "./live.ts";
import { copyText, Empty } from "./parts.tsx";
import { Unready } from "./resource.tsx";
import { route } from "./router.ts";
import { type RowColumn, RowTable } from "./row-table.tsx";
import { useRows } from "./rows.ts";
import { type KeyHint, Page } from "./shell.tsx";
import { type TextId, t } from "./texts.ts";

interface ListedState {
  /** Value in the address. */
  value: string;
  shape: string;
  tone: string;
  word: TextId;
}

interface ListPageProps<Row> {
  title: TextId;
  /** Path of the page, and that of the rows in the operator API. */
  path: string;
  source: string;
  topics: readonly LiveTopic[];
  columns: readonly RowColumn<Row>[];
  /** In the order of the list. */
  states: readonly ListedState[];
  stateOf(row: Row): string;
  nameOf(row: Row): string;
  compare?(a: Row, b: Row): number;
  says(counts: (state: string) => number, all: number): string;
  empty: TextId;
  command: string;
  emptyCommand?: string;
  /** Acts of the page, at the end of its bar. */
  end?: ComponentChildren;
  /** An act for those who have nothing yet. */
  emptyAct?: ComponentChildren;
}

type Listed = { id: string; account: string };

const HINTS: readonly KeyHint[] = [
  { keys: ["J", "K"], text: "keys.move" },
  { keys: ["Enter"], text: "keys.open" },
  { keys: ["C"], text: "keys.copy_id" },
  { keys: ["/"], text: "keys.search" },
];
/** Texts that take no values. */
const say = (id: TextId) => t(id as "loading");
const NOTHING = { show: "", account: "", q: "" };

function Filters<Row extends Listed>({ all, list }: { all: Row[]; list: ListPageProps<Row> }) {
  const [{ show = "", account = "", q = "" }, change] = useQuery();
  const accounts = [...new Set(all.map((row) => row.account))].toSorted();
  return (
    <FilterBar>
      <Chip isPressed={show === ""} onPress={() => change({ show: "" })}>
        {t("filter.all")}
      </Chip>
      {list.states.map(({ value, shape, tone, word }) => (
        <Chip
          key={value}
          isPressed={show === value}
          {...{ shape, tone }}
          count={all.filter((row) => list.stateOf(row) === value).length}
          onPress={() => change({ show: show === value ? "" : value })}
        >
          {say(word)}
        </Chip>
      ))}
      <span class="vr" />
      <ChoiceMenu
        label={t("filter.account")}
        value={account}
        options={[
          { value: "", text: t("filter.account") },
          ...accounts.map((value) => ({ value, text: value })),
        ]}
        onChange={(value) => change({ account: value })}
      />
      <span class="grow" />
      <SearchField
        label={t("filter.search")}
        hint={t("filter.search.hint")}
        value={q}
        onChange={(value) => change({ q: value })}
      />
    </FilterBar>
  );
}

export function ListPage<Row extends Listed>(list: ListPageProps<Row>) {
  const { path, states, stateOf, nameOf, compare = () => 0 } = list;
  const [{ show = "", account = "", q = "" }, change] = useQuery();
  const { value } = useResource<Row[]>(list.source, list.topics);
  const all = value.data ?? [];
  const order = states.map((state) => state.value);
  const wanted = q.toLowerCase();
  const rows = all
    .filter((row) => show === "" || stateOf(row) === show)
    .filter((row) => account === "" || row.account === account)
    .filter((row) => nameOf(row).toLowerCase().includes(wanted) || row.id.includes(wanted))
    .toSorted((a, b) => order.indexOf(stateOf(a)) - order.indexOf(stateOf(b)) || compare(a, b));
  const open = (id: string) => route(`${path}/${id}`);
  const chosen = useRows(rows, { onOpen: open, onCopy: (id) => void copyText(id) });
  const count = (state: string) => all.filter((row) => stateOf(row) === state).length;
  return (
    <Page
      title={list.title}
      says={value.data ? list.says(count, all.length) : undefined}
      command={account === "" ? list.command : `${list.command} --account ${quote(account)}`}
      hints={HINTS}
      end={list.end}
    >
      <Unready what={say(list.title)} resource={value} />
      {value.data?.length === 0 && (
        <div class="page">
          <Empty text={say(list.empty)} command={list.emptyCommand ?? list.command}>
            {list.emptyAct}
          </Empty>
        </div>
      )}
      {all.length > 0 && <Filters all={all} list={list} />}
      {all.length > 0 && rows.length === 0 && (
        <div class="page row">
          <span>{t("filter.none", all.length)}</span>
          <button class="link" type="button" onClick={() => change(NOTHING)}>
            {t("filter.clear")}
          </button>
        </div>
      )}
      {rows.length > 0 && (
        <RowTable
          columns={list.columns}
          rows={rows}
          chosen={chosen.value}
          onOpen={({ id }) => open(id)}
        />
      )}
    </Page>
  );
}
