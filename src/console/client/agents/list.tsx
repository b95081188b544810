// The list of agents with their tools by risk, last runs, cost and hold.
import { useLocation } from "preact-iso";
import { Chip, ChoiceMenu, FilterBar, SearchField, useQuery } from "../filters.tsx";
import { useResource } from "../live.ts";
import { Marks } from "../marks.tsx";
import { copyText, Empty, Icon, Money, Outside, State } from "../parts.tsx";
import { Unready } from "../resource.tsx";
import { useRows } from "../rows.ts";
import { type KeyHint, Page } from "../shell.tsx";
import { t } from "../texts.ts";
import {
  AGENT_STATES,
  type AgentCosts,
  type AgentState,
  type ListedAgentRow,
  listRunMarks,
  type RiskName,
  readAgentState,
} from "./data.ts";

export const PATH = "/console/agents";
const HINTS: readonly KeyHint[] = [
  { keys: ["J", "K"], text: "keys.move" },
  { keys: ["Enter"], text: "keys.open" },
  { keys: ["C"], text: "keys.copy_id" },
  { keys: ["/"], text: "keys.search" },
];
const STATES: readonly AgentState[] = ["held", "active", "archived"];
const RISKS: readonly RiskName[] = ["read", "write", "irreversible"];
export const RISK_TONES = { read: "mute", write: "warn", irreversible: "bad" } as const;

/** Three shapes with counts; the words are for screen readers and the pointer. */
function ToolCounts({ tools }: { tools: ListedAgentRow["tools"] }) {
  const shown = RISKS.filter((risk) => tools[risk] > 0);
  if (shown.length === 0) return <span class="dim">{t("agents.tools.none")}</span>;
  return (
    <span class="counts">
      {shown.map((risk) => (
        <span key={risk} title={t(`agents.risk.${risk}`, tools[risk])}>
          <Icon id={`s-${risk}`} size={12} tone={RISK_TONES[risk]} />
          {tools[risk]} <span class="vh">{t(`risk.${risk}`)}</span>
        </span>
      ))}
    </span>
  );
}

interface AgentRowProps {
  agent: ListedAgentRow;
  cost: AgentCosts["rows"][number] | undefined;
  isChosen: boolean;
}

function Row({ agent, cost, isChosen }: AgentRowProps) {
  const { route } = useLocation();
  const { id, name, account, model, tools, recent_runs, current_version } = agent;
  const state = readAgentState(agent);
  const href = `${PATH}/${id}`;
  return (
    <tr data-row={id} aria-selected={isChosen} class="opens" onClick={() => route(href)}>
      <td class="a2">
        <State {...AGENT_STATES[state]}>{t(`agents.is.${state}`)}</State>
      </td>
      <td class="w a1 cut">
        <a class="x" href={href}>
          <Outside text={name} />
        </a>{" "}
        <span class="dim">{t("agents.v", current_version)}</span>
      </td>
      <td class="p2 soft">
        <bdi>{account}</bdi>
      </td>
      <td class="p3 soft">{model}</td>
      <td class="p2">
        <ToolCounts tools={tools} />
      </td>
      <td class="b1 lasts">
        <Marks {...listRunMarks(recent_runs)} />
      </td>
      <td class="n b2">
        {cost && cost.cost === null && cost.unpriced > 0 ? (
          <span class="dim">{t("agents.no_price")}</span>
        ) : (
          <Money sum={cost?.cost} />
        )}
      </td>
    </tr>
  );
}

function Filters({ agents }: { agents: readonly ListedAgentRow[] }) {
  const [{ show = "", account = "", q = "" }, change] = useQuery();
  const accounts = [...new Set(agents.map((one) => one.account))].toSorted();
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
          {...AGENT_STATES[state]}
          count={agents.filter((one) => readAgentState(one) === state).length}
          onPress={() => change({ show: show === state ? "" : state })}
        >
          {t(`agents.is.${state}`)}
        </Chip>
      ))}
      <span class="vr" />
      <ChoiceMenu
        label={t("filter.account")}
        value={account}
        options={[{ value: "", text: t("filter.every_account") }, ...choices]}
        onChange={(value) => change({ account: value })}
      />
      <span class="grow" />
      <SearchField
        label={t("agents.search")}
        hint={t("agents.search.hint")}
        value={q}
        onChange={(value) => change({ q: value })}
      />
    </FilterBar>
  );
}

const COLUMNS = [
  ["column.state", ""],
  ["column.agent", "w"],
  ["filter.account", "p2"],
  ["agents.column.model", "p3"],
  ["agents.column.tools", "p2"],
  ["agents.column.marks", "lasts"],
  ["agents.column.cost", "n"],
] as const;

interface TableProps {
  rows: readonly ListedAgentRow[];
  costs: AgentCosts | null;
  chosen: string | null;
}

function Table({ rows, costs, chosen }: TableProps) {
  const byAgent = new Map(costs?.rows.map((row) => [row.agent_id, row]));
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
        {rows.map((agent) => (
          <Row
            key={agent.id}
            agent={agent}
            cost={byAgent.get(agent.id)}
            isChosen={agent.id === chosen}
          />
        ))}
      </tbody>
    </table>
  );
}

/** Archived agents stand last, and newer ones before older. */
function select(all: readonly ListedAgentRow[], query: Readonly<Record<string, string>>) {
  const { show = "", account = "", q = "" } = query;
  const wanted = q.toLowerCase();
  return all
    .filter((one) => show === "" || readAgentState(one) === show)
    .filter((one) => account === "" || one.account === account)
    .filter((one) => one.name.toLowerCase().includes(wanted) || one.id.includes(wanted))
    .toSorted((a, b) => Number(a.status === "archived") - Number(b.status === "archived"));
}

export function Agents() {
  const { route } = useLocation();
  const [query, change] = useQuery();
  const list = useResource<ListedAgentRow[]>("/agents", ["agents", "runs"]);
  const costs = useResource<AgentCosts>("/usage?by=agent", ["requests"]);
  const all = list.value.data ?? [];
  const rows = select(all, query);
  const chosen = useRows(rows, {
    onOpen: (id) => route(`${PATH}/${id}`),
    onCopy: (id) => void copyText(id),
  });
  const held = all.filter((one) => readAgentState(one) === "held").length;
  const { account = "" } = query;
  return (
    <Page
      title="page.agents"
      says={list.value.data ? t("agents.count", all.length, held) : undefined}
      command={account === "" ? "wadi agents list" : `wadi agents list --account ${account}`}
      hints={HINTS}
    >
      <Unready what={t("page.agents")} resource={list.value} />
      {list.value.data && all.length === 0 && (
        <div class="page">
          <Empty text={t("agents.empty")} command="wadi agents list" />
        </div>
      )}
      {all.length > 0 && <Filters agents={all} />}
      {all.length > 0 && rows.length === 0 && (
        <div class="page row">
          <span>{t("agents.none", all.length)}</span>
          <button
            class="link"
            type="button"
            onClick={() => change({ show: "", account: "", q: "" })}
          >
            {t("filter.clear")}
          </button>
        </div>
      )}
      {rows.length > 0 && <Table rows={rows} costs={costs.value.data} chosen={chosen.value} />}
    </Page>
  );
}
