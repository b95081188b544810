// The strip above a run: how it stands, for whom it works, and its use of its budgets.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Facts } from "../facts.tsx";
import { shortenId, writeExact, writeMoment, writeSpan, writeTook } from "../format.ts";
import { now } from "../live.ts";
import { BudgetBar, Outside, RunState } from "../parts.tsx";
import { isActive } from "../runs/selection.tsx";
import { Cost } from "../runs/table.tsx";
import { writeCount } from "../texts/plural.ts";
import { t } from "../texts.ts";
import type { ShownRun } from "./data.ts";

export function Summary({ run }: { run: ShownRun }) {
  const { agent_id, agent_name, version, created_at, usage, budgets } = run;
  const [approval] = run.pending_approvals;
  return (
    <Facts
      kind="strip sum"
      facts={[
        [
          t("run.status"),
          <span class="row">
            <RunState status={run.status} />
            {run.status === "waiting_approval" && approval && (
              <a href={`/console/approvals/${approval}`}>{t("run.approval")}</a>
            )}
            {run.cancel_requested && isActive(run) && <span class="dim">{t("run.stopping")}</span>}
          </span>,
        ],
        [
          t("column.agent"),
          <div class="fit">
            <a href={`/console/agents/${agent_id}`}>
              <Outside text={agent_name ?? shortenId(agent_id)} cut />
            </a>{" "}
            <span class="dim">{t("runs.version", version)}</span>
          </div>,
        ],
        [
          t("runs.started_by"),
          <div class="fit">
            <Starter run={run} /> <Repeated run={run} />
          </div>,
        ],
        [
          t("run.started"),
          <>
            <time dateTime={created_at} title={writeExact(created_at)}>
              {writeMoment(created_at, now.value)}
            </time>{" "}
            <span class="dim">{t("run.ago", writeSpan(now.value - Date.parse(created_at)))}</span>
          </>,
        ],
        [t("run.worked"), <Times run={run} />],
        [
          t("run.rounds"),
          <>
            {usage.rounds}{" "}
            {budgets.max_rounds !== null && (
              <span class="dim">{t("run.of", budgets.max_rounds)}</span>
            )}
          </>,
        ],
        [
          t("runs.column.tokens"),
          <>
            {writeCount(usage.prompt_tokens)} <span class="dim">{t("run.tokens.in")}</span>{" "}
            {writeCount(usage.completion_tokens)} <span class="dim">{t("run.tokens.out")}</span>
          </>,
        ],
        [t("run.cost"), <CostOfBudget run={run} />],
      ]}
    />
  );
}

function Repeated({ run: { rerun_of } }: { run: ShownRun }) {
  if (rerun_of === null) return null;
  return <a href={`/console/runs/${rerun_of}`}>{t("run.repeats", shortenId(rerun_of))}</a>;
}

function Starter({ run: { trigger_id, trigger_kind, started_by } }: { run: ShownRun }) {
  if (trigger_id === null) return <Outside text={started_by ?? t("runs.kind.manual")} cut />;
  return (
    <a href={`/console/triggers/${trigger_id}`}>
      <Outside text={started_by ?? t(`runs.kind.${trigger_kind}`)} cut />
    </a>
  );
}

/** Times grow between two reads of the run. */
function Times({ run }: { run: ShownRun }) {
  const readAt = useSignal(Date.now());
  useEffect(() => {
    readAt.value = Date.now();
  }, [run]);
  const since = Math.max(0, now.value - readAt.value);
  const worked = run.worked_ms + (run.status === "running" ? since : 0);
  const waited = run.waited_ms + (run.status === "waiting_approval" ? since : 0);
  return (
    <>
      <span class="ltr">{writeTook(worked)}</span>{" "}
      {waited > 0 && <span class="dim ltr">{t("run.waited", writeTook(waited))}</span>}
    </>
  );
}

function CostOfBudget({ run: { cost, budgets } }: { run: ShownRun }) {
  const { total } = cost;
  const limit = budgets.max_cost_sar;
  return (
    <div class="cost">
      <Cost sum={total} />{" "}
      <span class="dim">
        {limit === null ? total !== null && t("column.sar") : t("run.cost.of", writePrice(limit))}
      </span>
      {total !== null && limit !== null && (
        <BudgetBar used={Number(total)} limit={Number(limit)} label={t("run.cost.budget")} />
      )}
    </div>
  );
}

/** Writes a price with at least two decimals. */
export function writePrice(price: string): string {
  return price.replace(/(\.\d\d\d*?)0+$/, "$1");
}
