// A version of an agent: prompt, tools with what the policy does, policy, budgets, parameters.

import { type Fact, Facts } from "../facts.tsx";
import { writeSpan } from "../format.ts";
import { CodeBlock, Json } from "../json.tsx";
import { Head, Icon, Money, Outside, State } from "../parts.tsx";
import { writeCount } from "../texts/plural.ts";
import { t } from "../texts.ts";
import type { OpenedAgentRow, PreviewRow, ShownVersion } from "./data.ts";
import { RISK_TONES } from "./list.tsx";

const DECISIONS = {
  runs: { shape: "ok", tone: "ok" },
  asks: { shape: "waiting", tone: "warn" },
  asks_after_external_content: { shape: "waiting", tone: "mute" },
} as const;

function ToolRow({ tool }: { tool: PreviewRow }) {
  const { name, title, risk, revision, decision, why, is_off } = tool;
  return (
    <tr>
      <th scope="row" class="a1">
        <span class="row">
          <Icon id={`s-${risk}`} size={12} tone={RISK_TONES[risk]} />
          <code>{name}</code>
          <span class="vh">{t(`risk.${risk}`)}</span>
        </span>
      </th>
      <td class="soft p2">
        {title && <Outside text={title} cut />} <span class="dim">{t("agents.rev", revision)}</span>
      </td>
      <td class="b1">
        {is_off ? (
          <State shape="off" tone="mute">
            {t("agents.tool.off")}
          </State>
        ) : (
          <State {...DECISIONS[decision]}>{t(`agents.decision.${decision}`)}</State>
        )}
      </td>
      <td class="w soft a2 wraps">
        {is_off
          ? t("agents.tool.off.says")
          : why.length === 0
            ? t(`agents.why.none.${risk === "irreversible" ? "write" : risk}`)
            : why.map((reason) => t(`agents.why.${reason}`)).join(" ")}
      </td>
    </tr>
  );
}

function Tools({ tools }: { tools: readonly PreviewRow[] }) {
  return (
    <section>
      <Head title={t("agents.tools.title")} says={t("agents.tools.says")} />
      {tools.length === 0 ? (
        <p class="soft">{t("agents.tools.empty")}</p>
      ) : (
        <table class="t stack plain inner">
          <thead>
            <tr>
              <th>{t("agents.column.tool")}</th>
              <th class="p2">{t("agents.column.title")}</th>
              <th>{t("agents.column.call")}</th>
              <th class="w">{t("agents.column.why")}</th>
            </tr>
          </thead>
          <tbody>
            {tools.map((tool) => (
              <ToolRow key={tool.name} tool={tool} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function FactList({ title, rows }: { title: string; rows: readonly Fact[] }) {
  return (
    <section>
      <Head title={title} />
      <Facts facts={rows} />
    </section>
  );
}

function Policy({ policy }: { policy: ShownVersion["policy"] }) {
  const { require_approval: listed } = policy;
  const after = policy.writes_after_external_content;
  return (
    <FactList
      title={t("agents.policy")}
      rows={[
        [t("agents.policy.writes"), t(policy.unattended_writes ? "agents.run" : "agents.ask")],
        [t("agents.policy.after"), t(after === "allow" ? "agents.run" : "agents.ask")],
        [
          t("agents.policy.listed"),
          listed.length === 0 ? t("agents.policy.listed.none") : <code>{listed.join(", ")}</code>,
        ],
        [t("agents.policy.ttl"), writeSpan(policy.approval_ttl_seconds * 1_000)],
        [t("agents.policy.expired"), t(`agents.expired.${policy.on_approval_expired}`)],
        [t("agents.policy.unknown"), t(`agents.unknown.${policy.on_unknown_outcome}`)],
      ]}
    />
  );
}

function Budgets({ budgets }: { budgets: ShownVersion["budgets"] }) {
  const { max_cost_sar, max_rounds, max_tool_calls, max_total_tokens, max_run_seconds } = budgets;
  const number = (value: number | null) =>
    value === null ? t("agents.no_limit") : writeCount(value);
  return (
    <FactList
      title={t("agents.budgets")}
      rows={[
        [
          t("agents.budget.cost"),
          max_cost_sar === null ? t("agents.no_limit") : <Money sum={max_cost_sar} />,
        ],
        [t("agents.budget.rounds"), number(max_rounds)],
        [t("agents.budget.calls"), number(max_tool_calls)],
        [t("agents.budget.tokens"), number(max_total_tokens)],
        [
          t("agents.budget.time"),
          max_run_seconds === null ? t("agents.no_limit") : writeSpan(max_run_seconds * 1_000),
        ],
      ]}
    />
  );
}

function Parameters({ version }: { version: ShownVersion }) {
  const { temperature, top_p, max_tokens, reasoning } = version.model_params;
  const own = (value: number | null) => (value === null ? t("agents.own") : String(value));
  return (
    <FactList
      title={t("agents.parameters")}
      rows={[
        ["temperature", own(temperature)],
        ["top_p", own(top_p)],
        ["max_tokens", own(max_tokens)],
        ["reasoning", reasoning === null ? t("agents.own") : String(reasoning)],
      ]}
    />
  );
}

export function VersionSheet({ agent }: { agent: OpenedAgentRow }) {
  const { version, tools } = agent;
  return (
    <>
      <section>
        <Head title={t("agents.prompt")} />
        <CodeBlock text={version.system_prompt} label={t("agents.prompt")} />
      </section>
      {version.output_schema && (
        <section>
          <Head title={t("agents.output_schema")} />
          <Json value={version.output_schema} label={t("agents.output_schema")} />
        </section>
      )}
      <Tools tools={tools} />
      <div class="thirds">
        <Policy policy={version.policy} />
        <Budgets budgets={version.budgets} />
        <Parameters version={version} />
      </div>
    </>
  );
}
