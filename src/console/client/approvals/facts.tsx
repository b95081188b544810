// Facts beside an approval: its run, who started it, what it cost, its times, who may decide.
import type { ComponentChildren } from "preact";
import { type Fact, Facts } from "../facts.tsx";
import { shortenId, writeExact, writeRecent, writeSpan } from "../format.ts";
import { now } from "../live.ts";
import { BudgetBar, copyText, Money, Outside } from "../parts.tsx";
import { t } from "../texts.ts";
import type { ApprovalDetail } from "./data.ts";
import { useIsOperator } from "./viewer.ts";

const nameKey = ({ id, name }: { id: string; name: string | null }) => name ?? shortenId(id);

export function ApprovalFacts({ detail }: { detail: ApprovalDetail }) {
  const { approval, account, tool_endpoint, barred_keys } = detail;
  const { requested_at, expires_at, arguments_sha256: sha, status } = approval;
  const leftMs = Date.parse(expires_at) - now.value;
  const isPending = status === "pending";
  const input = detail.run_message?.trim() ?? "";
  const facts: Fact[] = [
    [t("approvals.fact.run"), <RunTitle key="run" detail={detail} />],
    [
      t("approvals.fact.input"),
      input.length > TITLE_CHARACTERS_MAX && (
        <span class="clip soft">
          <Outside text={input.slice(0, INPUT_CHARACTERS_MAX)} />
        </span>
      ),
    ],
    [t("approvals.fact.started"), detail.started_by && <Origin starter={detail.started_by} />],
    [t("approvals.fact.account"), <bdi key="account">{account}</bdi>],
    [t("approvals.fact.cost"), <Cost key="cost" detail={detail} />],
    [
      t("approvals.fact.endpoint"),
      tool_endpoint !== null && (
        <code class="ltr">
          <Outside text={tool_endpoint} />
        </code>
      ),
    ],
    [
      t("approvals.fact.asked"),
      <Clock key="asked" at={requested_at}>
        {t("approvals.earlier", writeSpan(now.value - Date.parse(requested_at)))}
      </Clock>,
    ],
    [
      t("approvals.fact.expires"),
      <Clock key="expires" at={expires_at}>
        {isPending && leftMs > 0 && t("approvals.fact.expires.in", writeSpan(leftMs))}
      </Clock>,
    ],
    [
      t("approvals.fact.sha"),
      <button key="sha" class="link" type="button" title={sha} onClick={() => copyText(sha)}>
        <code class="ltr">{`${sha.slice(0, 8)}…${sha.slice(-4)}`}</code>
      </button>,
    ],
    [
      t("approvals.fact.deciders"),
      isPending && (
        <>
          {t("approvals.deciders.all", account)}{" "}
          {barred_keys.length > 0 && t("approvals.deciders.barred", barred_keys.map(nameKey))}
        </>
      ),
    ],
  ];
  return (
    <aside class="rail" aria-label={t("approvals.facts")}>
      <Facts facts={facts} />
    </aside>
  );
}

function Clock({ at, children }: { at: string; children: ComponentChildren }) {
  return (
    <span title={writeExact(at)}>
      {writeRecent(at, now.value)} <span class="dim">{children}</span>
    </span>
  );
}

const TITLE_CHARACTERS_MAX = 120;
const INPUT_CHARACTERS_MAX = 400;

/** Shows the first line of what the run was asked. */
function RunTitle({ detail }: { detail: ApprovalDetail }) {
  const { approval, run_message } = detail;
  const text = run_message?.trim().split("\n", 1)[0]?.slice(0, TITLE_CHARACTERS_MAX);
  const title = text ? (
    <Outside text={text} />
  ) : (
    <code class="ltr">{shortenId(approval.run_id)}</code>
  );
  return useIsOperator() ? (
    <a class="clip x" href={`/console/runs/${approval.run_id}`}>
      {title}
    </a>
  ) : (
    <span class="clip">{title}</span>
  );
}

function Origin({ starter }: { starter: NonNullable<ApprovalDetail["started_by"]> }) {
  const { trigger_id, trigger_name, key_id, key_name, operator } = starter;
  const first =
    trigger_id !== null
      ? t("approvals.trigger", trigger_name ?? shortenId(trigger_id))
      : operator !== null && t("approvals.started.operator", operator);
  const key = key_id !== null && t("approvals.started.key", key_name ?? shortenId(key_id));
  return (
    <>
      {first && <Outside text={first} />}
      {first && key && <br />}
      {key && (
        <span class={first ? "dim" : ""}>
          <Outside text={key} />
        </span>
      )}
    </>
  );
}

function Cost({ detail: { cost, budget } }: { detail: ApprovalDetail }) {
  return (
    <>
      <Money sum={cost} />{" "}
      {budget === null
        ? cost !== null && t("approvals.fact.cost.sar")
        : t("approvals.fact.cost.of", String(Number(budget)))}
      {budget !== null && cost !== null && (
        <BudgetBar
          used={Number(cost)}
          limit={Number(budget)}
          label={t("approvals.fact.cost.label")}
        />
      )}
    </>
  );
}
