// Facts beside an approval: its run, who started it, what it cost, its times, who may decide.
import type { ComponentChildren } from "preact";
import { shortenId, writeClock, writeExact, writeSpan } from "../format.ts";
import { now } from "../live.ts";
import { BudgetBar, copyText, Money, Outside } from "../parts.tsx";
import { t } from "../texts.ts";
import type { ApprovalDetail } from "./data.ts";
import { ShareButton } from "./share.tsx";
import { useIsOperator } from "./viewer.ts";

const nameKey = ({ id, name }: { id: string; name: string | null }) => name ?? shortenId(id);

export function Facts({ detail }: { detail: ApprovalDetail }) {
  const { approval, account, tool_endpoint, barred_keys } = detail;
  const { requested_at, expires_at, arguments_sha256: sha, status } = approval;
  const leftMs = Date.parse(expires_at) - now.value;
  const isOperator = useIsOperator();
  const input = detail.run_message?.trim() ?? "";
  return (
    <aside class="rail" aria-label={t("approvals.facts")}>
      <dl class="facts">
        <Fact name={t("approvals.fact.run")}>
          <RunTitle detail={detail} />
        </Fact>
        {input.length > TITLE_CHARACTERS_MAX && (
          <Fact name={t("approvals.fact.input")}>
            <span class="clip soft">
              <Outside text={input.slice(0, INPUT_CHARACTERS_MAX)} />
            </span>
          </Fact>
        )}
        <Origin detail={detail} />
        <Fact name={t("approvals.fact.account")}>
          <bdi>{account}</bdi>
        </Fact>
        <Cost detail={detail} />
        {tool_endpoint !== null && (
          <Fact name={t("approvals.fact.endpoint")}>
            <code class="ltr">
              <Outside text={tool_endpoint} />
            </code>
          </Fact>
        )}
        <Fact name={t("approvals.fact.asked")} title={writeExact(requested_at)}>
          {writeClock(requested_at)}{" "}
          <span class="dim">
            {t("approvals.earlier", writeSpan(now.value - Date.parse(requested_at)))}
          </span>
        </Fact>
        <Fact name={t("approvals.fact.expires")} title={writeExact(expires_at)}>
          {writeClock(expires_at)}{" "}
          {status === "pending" && leftMs > 0 && (
            <span class="dim">{t("approvals.fact.expires.in", writeSpan(leftMs))}</span>
          )}
        </Fact>
        <Fact name={t("approvals.fact.sha")}>
          <button class="link" type="button" title={sha} onClick={() => copyText(sha)}>
            <code class="ltr">{`${sha.slice(0, 8)}…${sha.slice(-4)}`}</code>
          </button>
        </Fact>
        {status === "pending" && (
          <Fact name={t("approvals.fact.deciders")}>
            {t("approvals.deciders.all", account)}{" "}
            {barred_keys.length > 0 && t("approvals.deciders.barred", barred_keys.map(nameKey))}
          </Fact>
        )}
      </dl>
      {isOperator && status === "pending" && <ShareButton detail={detail} />}
    </aside>
  );
}

interface FactProps {
  name: string;
  title?: string;
  children: ComponentChildren;
}

function Fact({ name, title, children }: FactProps) {
  return (
    <>
      <dt>{name}</dt>
      <dd title={title}>{children}</dd>
    </>
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

function Origin({ detail: { started_by } }: { detail: ApprovalDetail }) {
  if (!started_by) return null;
  const { trigger_id, trigger_name, key_id, key_name, operator } = started_by;
  const first =
    trigger_id !== null
      ? t("approvals.trigger", trigger_name ?? shortenId(trigger_id))
      : operator !== null && t("approvals.started.operator", operator);
  const key = key_id !== null && t("approvals.started.key", key_name ?? shortenId(key_id));
  return (
    <Fact name={t("approvals.fact.started")}>
      {first && <Outside text={first} />}
      {first && key && <br />}
      {key && (
        <span class={first ? "dim" : ""}>
          <Outside text={key} />
        </span>
      )}
    </Fact>
  );
}

function Cost({ detail: { cost, budget } }: { detail: ApprovalDetail }) {
  return (
    <Fact name={t("approvals.fact.cost")}>
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
    </Fact>
  );
}
