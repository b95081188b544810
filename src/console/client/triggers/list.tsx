// The list of triggers with their next times and last outcomes.
import { writeCommand } from "../curl.ts";
import { shortenId } from "../format.ts";
import { ListPage } from "../list-page.tsx";
import { Marks } from "../marks.tsx";
import { Outside, State } from "../parts.tsx";
import { orDash, type RowColumn } from "../row-table.tsx";
import { t } from "../texts.ts";
import { When } from "../when.tsx";
import { type ListedTriggerRow, listFireMarks, readTriggerState, TRIGGER_STATES } from "./data.ts";

export const PATH = "/console/triggers";

const COLUMNS: readonly RowColumn<ListedTriggerRow>[] = [
  {
    ...{ head: "column.state", place: "a2" },
    cell(trigger) {
      const state = readTriggerState(trigger);
      return <State {...TRIGGER_STATES[state]}>{t(`triggers.is.${state}`)}</State>;
    },
  },
  {
    ...{ head: "triggers.column.trigger", place: "w a1 cut" },
    cell: ({ id, name }) => (
      <a class="x" href={`${PATH}/${id}`}>
        <Outside text={name} />
      </a>
    ),
  },
  {
    ...{ head: "triggers.column.kind", place: "p2 soft" },
    cell: ({ kind }) => t(`triggers.kind.${kind}`),
  },
  {
    ...{ head: "column.agent", place: "p2 soft cut agent" },
    cell: ({ agent_name, agent_id }) => <Outside text={agent_name ?? shortenId(agent_id)} cut />,
  },
  {
    ...{ head: "filter.account", place: "p3 soft" },
    cell: ({ account }) => <bdi>{account}</bdi>,
  },
  {
    ...{ head: "triggers.column.next", place: "n b2" },
    cell: ({ next_fire_at: at }) => orDash(at && <When at={at} />),
  },
  {
    ...{ head: "triggers.column.last", place: "n p3 soft" },
    cell: ({ last_fire_at: at }) => orDash(at && <When at={at} />),
  },
  {
    ...{ head: "triggers.column.marks", place: "b1 lasts" },
    cell: ({ recent_fires }) => <Marks {...listFireMarks(recent_fires)} />,
  },
];

export const Triggers = () => (
  <ListPage<ListedTriggerRow>
    title="page.triggers"
    path={PATH}
    source="/triggers"
    topics={["triggers"]}
    columns={COLUMNS}
    states={(["stopped", "active", "paused"] as const).map((value) => ({
      ...{ value, ...TRIGGER_STATES[value], word: `triggers.is.${value}` as const },
    }))}
    stateOf={readTriggerState}
    nameOf={({ name }) => name}
    compare={(a, b) => (a.next_fire_at ?? "9").localeCompare(b.next_fire_at ?? "9")}
    says={(counts, all) => t("triggers.count", all, counts("stopped"))}
    empty="triggers.empty"
    command={writeCommand("triggers", "list")}
  />
);
