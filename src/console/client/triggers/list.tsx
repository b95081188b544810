// The list of triggers with their next times and last outcomes.
import { useLocation } from "preact-iso";
import { Chip, ChoiceMenu, FilterBar, useQuery } from "../filters.tsx";
import { shortenId } from "../format.ts";
import { useResource } from "../live.ts";
import { Marks } from "../marks.tsx";
import { copyText, Empty, Outside, State } from "../parts.tsx";
import { Unready } from "../resource.tsx";
import { useRows } from "../rows.ts";
import { type KeyHint, Page } from "../shell.tsx";
import { t } from "../texts.ts";
import { When } from "../when.tsx";
import {
  type ListedTriggerRow,
  listFireMarks,
  readTriggerState,
  TRIGGER_STATES,
  type TriggerState,
} from "./data.ts";

export const PATH = "/console/triggers";
const HINTS: readonly KeyHint[] = [
  { keys: ["J", "K"], text: "keys.move" },
  { keys: ["Enter"], text: "keys.open" },
  { keys: ["C"], text: "keys.copy_id" },
];
/** In the order of the list: those that need a person come first. */
const STATES: readonly TriggerState[] = ["stopped", "active", "paused"];

function Filters({ triggers }: { triggers: readonly ListedTriggerRow[] }) {
  const [{ show = "", account = "" }, change] = useQuery();
  const accounts = [...new Set(triggers.map((one) => one.account))].toSorted();
  const choices = accounts.map((value) => ({ value, text: value }));
  return (
    <FilterBar>
      <Chip isPressed={show === ""} onPress={() => change({ show: "" })}>
        {t("filter.all")}
      </Chip>
      {STATES.map((state) => (
        <Chip
          key={state}
          isPressed={show === state}
          {...TRIGGER_STATES[state]}
          count={triggers.filter((one) => readTriggerState(one) === state).length}
          onPress={() => change({ show: show === state ? "" : state })}
        >
          {t(`triggers.is.${state}`)}
        </Chip>
      ))}
      <span class="vr" />
      <ChoiceMenu
        label={t("filter.account")}
        value={account}
        options={[{ value: "", text: t("filter.every_account") }, ...choices]}
        onChange={(value) => change({ account: value })}
      />
    </FilterBar>
  );
}

function Row({ trigger, isChosen }: { trigger: ListedTriggerRow; isChosen: boolean }) {
  const { route } = useLocation();
  const { id, name, kind, agent_id, agent_name, next_fire_at, last_fire_at } = trigger;
  const state = readTriggerState(trigger);
  const href = `${PATH}/${id}`;
  return (
    <tr data-row={id} aria-selected={isChosen} class="opens" onClick={() => route(href)}>
      <td class="a2">
        <State {...TRIGGER_STATES[state]}>{t(`triggers.is.${state}`)}</State>
      </td>
      <td class="w a1 cut">
        <a class="x" href={href}>
          <Outside text={name} />
        </a>
      </td>
      <td class="p2 soft">{t(`triggers.kind.${kind}`)}</td>
      <td class="p2 soft cut agent">
        <Outside text={agent_name ?? shortenId(agent_id)} cut />
      </td>
      <td class="p3 soft">
        <bdi>{trigger.account}</bdi>
      </td>
      <td class="n b2">{next_fire_at ? <When at={next_fire_at} /> : <span class="dim">–</span>}</td>
      <td class="b1 lasts">
        <Marks {...listFireMarks(trigger.recent_fires)} />
      </td>
      <td class="n p3 soft">
        {last_fire_at ? <When at={last_fire_at} /> : <span class="dim">–</span>}
      </td>
    </tr>
  );
}

const COLUMNS = [
  ["column.state", ""],
  ["triggers.column.trigger", "w"],
  ["triggers.column.kind", "p2"],
  ["column.agent", "p2"],
  ["filter.account", "p3"],
  ["triggers.column.next", "n"],
  ["triggers.column.marks", "lasts"],
  ["triggers.column.last", "n p3"],
] as const;

function Table({ rows, chosen }: { rows: readonly ListedTriggerRow[]; chosen: string | null }) {
  return (
    <table class="t full stack">
      <thead>
        <tr>
          {COLUMNS.map(([text, place]) => (
            <th class={place} key={text}>
              {t(text)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((trigger) => (
          <Row key={trigger.id} trigger={trigger} isChosen={trigger.id === chosen} />
        ))}
      </tbody>
    </table>
  );
}

/** Stopped ones first, then by their next time. */
const compare = (a: ListedTriggerRow, b: ListedTriggerRow): number =>
  STATES.indexOf(readTriggerState(a)) - STATES.indexOf(readTriggerState(b)) ||
  (a.next_fire_at ?? "9").localeCompare(b.next_fire_at ?? "9") ||
  a.name.localeCompare(b.name);

export function Triggers() {
  const { route } = useLocation();
  const [{ show = "", account = "" }, change] = useQuery();
  const list = useResource<ListedTriggerRow[]>("/triggers", ["triggers"]);
  const all = list.value.data ?? [];
  const rows = all
    .filter((one) => show === "" || readTriggerState(one) === show)
    .filter((one) => account === "" || one.account === account)
    .toSorted(compare);
  const chosen = useRows(rows, {
    onOpen: (id) => route(`${PATH}/${id}`),
    onCopy: (id) => void copyText(id),
  });
  const stopped = all.filter((one) => readTriggerState(one) === "stopped").length;
  return (
    <Page
      title="page.triggers"
      says={list.value.data ? t("triggers.count", all.length, stopped) : undefined}
      command={account === "" ? "wadi triggers list" : `wadi triggers list --account ${account}`}
      hints={HINTS}
    >
      <Unready what={t("page.triggers")} resource={list.value} />
      {list.value.data && all.length === 0 && (
        <div class="page">
          <Empty text={t("triggers.empty")} command="wadi triggers list" />
        </div>
      )}
      {all.length > 0 && <Filters triggers={all} />}
      {all.length > 0 && rows.length === 0 && (
        <div class="page row">
          <span>{t("triggers.none", all.length)}</span>
          <button class="link" type="button" onClick={() => change({ show: "", account: "" })}>
            {t("filter.clear")}
          </button>
        </div>
      )}
      {rows.length > 0 && <Table rows={rows} chosen={chosen.value} />}
    </Page>
  );
}
