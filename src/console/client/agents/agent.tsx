// One agent: its versions at the side, and one of them with its prompt, tools, policy and budgets.

import { writeCommand } from "../curl.ts";
import { Facts } from "../facts.tsx";
import { useQuery } from "../filters.tsx";
import { shortenId } from "../format.ts";
import { useKeys } from "../keyboard.ts";
import { useResource } from "../live.ts";
import { copyText, Icon, Money, Outside, State } from "../parts.tsx";
import { Unready } from "../resource.tsx";
import { route, useLocation } from "../router.ts";
import { type KeyHint, Page } from "../shell.tsx";
import { writeCount } from "../texts/plural.ts";
import { t } from "../texts.ts";
import { When } from "../when.tsx";
import { AgentActs } from "./agent-acts.tsx";
import {
  AGENT_STATES,
  type AgentCosts,
  type OpenedAgentRow,
  readAgentState,
  type VersionRowShown,
} from "./data.ts";
import { Difference } from "./difference.tsx";
import { PATH } from "./list.tsx";
import { VersionSheet } from "./version-sheet.tsx";

const HINTS: readonly KeyHint[] = [
  { keys: ["J", "K"], text: "keys.version" },
  { keys: ["C"], text: "keys.copy_id" },
  { keys: ["Esc"], text: "keys.close" },
];

function About({ agent }: { agent: OpenedAgentRow }) {
  const state = readAgentState(agent);
  const costs = useResource<AgentCosts>("/usage?by=agent", ["requests"]);
  const cost = costs.value.data?.rows.find((row) => row.agent_id === agent.id);
  const { held_since: since, created_by_key_name: key, version } = agent;
  return (
    <Facts
      kind="strip"
      facts={[
        [
          t("column.state"),
          <span class="row">
            <State {...AGENT_STATES[state]}>{t(`agents.is.${state}`)}</State>
            <span class="dim">{since && <When at={since} />}</span>
          </span>,
        ],
        [t("filter.account"), <bdi>{agent.account}</bdi>],
        [t("agents.column.model"), version.model],
        [
          t("agents.fact.made"),
          <>
            <When at={version.created_at} />{" "}
            <span class="dim">{key && <Outside text={key} />}</span>
          </>,
        ],
        [t("agents.column.cost"), <Money sum={cost?.cost} />],
        [t("page.runs"), <a href={`/console/runs?agent=${agent.id}`}>{t("agents.runs")}</a>],
      ]}
    />
  );
}

function HoldNote({ agent }: { agent: OpenedAgentRow }) {
  const { held, hold_reason } = agent;
  if (!held) return null;
  return (
    <div class="note" role="note">
      <Icon id="i-alert" />
      <p>
        <b>{t(`agents.held.${held}`)}</b>{" "}
        {hold_reason && (
          <span>
            <Outside text={hold_reason} />
          </span>
        )}
      </p>
    </div>
  );
}

interface VersionsProps {
  agent: OpenedAgentRow;
  versions: readonly VersionRowShown[];
}

function Versions({ agent, versions }: VersionsProps) {
  return (
    <nav class="list" aria-label={t("agents.versions")}>
      <h3>
        {t("agents.versions")} <span>{writeCount(agent.current_version)}</span>
      </h3>
      {versions.map(({ version, model, created_at, created_by_key_name: key }) => (
        <a
          class="item ver"
          key={version}
          href={`${PATH}/${agent.id}?version=${version}`}
          aria-current={version === agent.version.version || undefined}
        >
          <span />
          <b>
            {t("agents.version", version)}{" "}
            {version === agent.current_version && <span class="tag">{t("agents.current")}</span>}
          </b>
          <time dateTime={created_at}>
            <When at={created_at} />
          </time>
          <span class="parts">
            <span class="cut">{model}</span>
            {key && (
              <>
                <span class="dot">·</span>
                <Outside text={key} cut />
              </>
            )}
          </span>
        </a>
      ))}
    </nav>
  );
}

/** Which version is shown, for phones without the list, and which it is compared with. */
function Choices({ agent, versions }: VersionsProps) {
  const [{ diff = "" }, change] = useQuery();
  const numbers = versions.map(({ version }) => String(version));
  const { version } = agent.version;
  const others = numbers.filter((number) => number !== String(version));
  if (others.length === 0) return null;
  return (
    <p class="row choices">
      <label class="row p0">
        {t("agents.choose")}
        <select
          class="chip"
          value={String(version)}
          onChange={({ currentTarget }) => change({ version: currentTarget.value, diff: "" })}
        >
          {numbers.map((number) => (
            <option key={number}>{number}</option>
          ))}
        </select>
      </label>
      <label class="row">
        {t("agents.compare")}
        <select
          class="chip"
          value={diff}
          onChange={({ currentTarget }) => {
            change({ version: String(version), diff: currentTarget.value });
          }}
        >
          <option value="">{t("agents.compare.none")}</option>
          {others.map((number) => (
            <option key={number}>{number}</option>
          ))}
        </select>
      </label>
    </p>
  );
}

export function OpenedAgent() {
  const id = useLocation().id!;
  const [{ version = "", diff = "" }, change] = useQuery();
  const path = `/agents/${encodeURIComponent(id)}`;
  const asked = version === "" ? path : `${path}?version=${encodeURIComponent(version)}`;
  const opened = useResource<OpenedAgentRow>(asked, ["agents"]);
  const listed = useResource<VersionRowShown[]>(`${path}/versions?limit=200`, ["agents"]);
  const { data: agent } = opened.value;
  const versions = listed.value.data ?? [];
  const short = shortenId(id);
  const move = (by: number) => {
    const at = versions.findIndex((one) => one.version === agent?.version.version);
    const next = versions[at + by];
    if (at >= 0 && next) change({ version: String(next.version), diff: "" });
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    c: () => void copyText(id),
    Escape: () => route(PATH),
  });
  return (
    <Page
      title="page.agents"
      opened={{ list: PATH, name: <Outside text={agent?.name ?? short} cut /> }}
      command={
        version === ""
          ? writeCommand("agents", "show", short)
          : writeCommand("agents", "show", short, "--version", `${version}`)
      }
      hints={HINTS}
      isFixed
      end={agent && <AgentActs agent={agent} onChanged={opened.reload} />}
    >
      <Unready
        what={t("agents.this")}
        resource={opened.value}
        missing={{ says: t("agents.missing", short), href: PATH, link: t("agents.all") }}
      />
      {agent && (
        <div class="split open">
          <Versions agent={agent} versions={versions} />
          <article class="ask">
            <div class="page sections">
              <HoldNote agent={agent} />
              {agent.description && (
                <p class="soft">
                  <Outside text={agent.description} />
                </p>
              )}
              <About agent={agent} />
              <Choices agent={agent} versions={versions} />
              {diff === "" ? (
                <VersionSheet agent={agent} />
              ) : (
                <Difference id={id} after={agent.version} number={diff} />
              )}
            </div>
          </article>
        </div>
      )}
    </Page>
  );
}
