// A call of a tool: its arguments, its result, and who let it run.
import { writeExact, writeTook } from "../format.ts";
import { CodeBlock, Json } from "../json.tsx";
import { Outside } from "../parts.tsx";
import { Cost } from "../runs/table.tsx";
import { t } from "../texts.ts";
import type { DecisionStep, StepItem } from "./data.ts";
import { Fact, indent } from "./facts.tsx";

export function ToolDetail({ steps }: { steps: readonly StepItem[] }) {
  const call = steps.findLast((step) => step.kind === "tool_call")?.data;
  const result = steps.findLast((step) => step.kind === "tool_result")?.data;
  const decision = steps.findLast((step) => step.kind === "approval")?.data;
  if (!call) return null;
  return (
    <>
      <dl class="facts">
        {result && (
          <Fact name={t("run.outcome")}>
            <code>{result.outcome}</code>
          </Fact>
        )}
        {result?.http_status != null && <Fact name={t("run.http")}>{result.http_status}</Fact>}
        {call.risk !== null && <Fact name={t("run.risk")}>{call.risk}</Fact>}
        {call.attempt > 0 && <Fact name={t("run.attempt")}>{call.attempt}</Fact>}
        {result?.duration_ms != null && (
          <Fact name={t("run.took")}>{writeTook(result.duration_ms)}</Fact>
        )}
        {result && (
          <Fact name={t("run.external")}>
            {t(result.external ? "run.external.yes" : "run.external.no")}
          </Fact>
        )}
        {decision && <DecisionFacts decision={decision} />}
        {result && (
          <Fact name={t("run.cost")}>
            <Cost sum={result.cost} /> {result.cost !== null && t("column.sar")}
          </Fact>
        )}
      </dl>
      <section>
        <h2>{t("run.arguments")}</h2>
        <Json value={call.arguments} label={t("run.arguments")} />
      </section>
      <section>
        <h2>{t("run.result")}</h2>
        {result ? (
          <CodeBlock text={indent(result.content)} label={t("run.result")} />
        ) : (
          <p class="dim">{t("run.result.none")}</p>
        )}
        {result?.truncated && <p class="dim">{t("run.result.cut")}</p>}
      </section>
    </>
  );
}

const WORDS = { approved: "run.approved", rejected: "run.rejected" } as const;

function DecisionFacts({ decision: { event, approval } }: { decision: DecisionStep }) {
  const { decided_by, decided_at, reason, id } = approval;
  if (event === "requested") {
    return (
      <Fact name={t("run.waiting")}>
        {t("run.waiting.person")} <a href={`/console/approvals/${id}`}>{t("run.approval")}</a>
      </Fact>
    );
  }
  const says =
    event === "approved" || event === "rejected"
      ? t("run.decided.says", t(WORDS[event]), decided_by?.id ?? "")
      : t(event === "expired" ? "run.decided.clock" : "run.decided.closed");
  return (
    <>
      <Fact name={t("run.decided")}>
        <span title={decided_at ? writeExact(decided_at) : ""}>
          <Outside text={says} />
        </span>
      </Fact>
      {reason !== null && (
        <Fact name={t("run.reason")}>
          <Outside text={reason} />
        </Fact>
      )}
    </>
  );
}
