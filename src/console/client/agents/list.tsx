// The list of agents with their tools by risk, last runs, cost and hold.
import { writeCommand } from "../curl.ts";
import { TryApproval, useSampleKey, writeAgentCommand } from "../first-approval.tsx";
import { ListPage } from "../list-page.tsx";
import { useResource } from "../live.ts";
import { Marks } from "../marks.tsx";
import { Icon, Money, Outside, State } from "../parts.tsx";
import type { RowColumn } from "../row-table.tsx";
import { t } from "../texts.ts";
import {
  AGENT_STATES,
  type AgentCosts,
  type ListedAgentRow,
  listRunMarks,
  type RiskName,
  readAgentState,
} from "./data.ts";

export const PATH = "/console/agents";
export const RISKS: readonly RiskName[] = ["read", "write", "irreversible"];
export const RISK_TONES = { read: "mute", write: "warn", irreversible: "bad" } as const;

/** Three shapes with counts; the words are for screen readers and the pointer. */
function ToolCounts({ tools }: { tools: ListedAgentRow["tools"] }) {
  const shown = RISKS.filter((risk) => tools[risk] > 0);
  if (shown.length === 0) return <span class="dim">{t("agents.tools.none")}</span>;
  return (
    <span class="counts">
      {shown.map((risk) => (
        <span key={risk} title={t(`risk.${risk}`)}>
          <Icon id={`s-${risk}`} size={12} tone={RISK_TONES[risk]} />
          {tools[risk]} <span class="vh">{t(`risk.${risk}`)}</span>
        </span>
      ))}
    </span>
  );
}

function Cost({ cost }: { cost: AgentCosts["rows"][number] | undefined }) {
  if (cost?.cost !== null || cost.unpriced === 0) return <Money sum={cost?.cost} />;
  return <span class="dim">{t("agents.no_price")}</span>;
}

const COLUMNS: readonly RowColumn<ListedAgentRow>[] = [
  {
    ...{ head: "column.state", place: "a2" },
    cell(agent) {
      const state = readAgentState(agent);
      return <State {...AGENT_STATES[state]}>{t(`agents.is.${state}`)}</State>;
    },
  },
  {
    ...{ head: "column.agent", place: "w a1 cut" },
    cell: ({ id, name, current_version }) => (
      <>
        <a class="x" href={`${PATH}/${id}`}>
          <Outside text={name} />
        </a>{" "}
        <span class="dim">{t("agents.v", current_version)}</span>
      </>
    ),
  },
  {
    ...{ head: "filter.account", place: "p2 soft" },
    cell: ({ account }) => <bdi>{account}</bdi>,
  },
  { head: "agents.column.model", place: "p3 soft", cell: ({ model }) => model },
  {
    ...{ head: "agents.column.tools", place: "p2" },
    cell: ({ tools }) => <ToolCounts tools={tools} />,
  },
  {
    ...{ head: "agents.column.marks", place: "b1 lasts" },
    cell: ({ recent_runs }) => <Marks {...listRunMarks(recent_runs)} />,
  },
];

export function Agents() {
  const costs = useResource<AgentCosts>("/usage?by=agent", ["requests"]).value.data;
  const key = useSampleKey();
  const byAgent = new Map(costs?.rows.map((row) => [row.agent_id, row]));
  const cost: RowColumn<ListedAgentRow> = {
    ...{ head: "agents.column.cost", place: "n b2" },
    cell: ({ id }) => <Cost cost={byAgent.get(id)} />,
  };
  return (
    <ListPage<ListedAgentRow>
      title="page.agents"
      path={PATH}
      source="/agents"
      topics={["agents", "runs"]}
      columns={[...COLUMNS, cost]}
      states={(["held", "active", "archived"] as const).map((value) => ({
        ...{ value, ...AGENT_STATES[value], word: `agents.is.${value}` as const },
      }))}
      stateOf={readAgentState}
      nameOf={({ name }) => name}
      says={(counts, all) => t("agents.count", all, counts("held"))}
      empty="agents.empty"
      command={writeCommand("agents", "list")}
      emptyCommand={writeAgentCommand(key)}
      emptyAct={<TryApproval />}
    />
  );
}
