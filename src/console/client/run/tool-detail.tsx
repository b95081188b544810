// A call of a tool: its arguments, its result, and who let it run.
import { type Fact, Facts } from "../facts.tsx";
import { writeExact, writeTook } from "../format.ts";
import { CodeBlock, indent, Json } from "../json.tsx";
import { Outside } from "../parts.tsx";
import { Cost } from "../runs/table.tsx";
import { t } from "../texts.ts";
import type { DecisionStep, StepItem } from "./data.ts";

export function ToolDetail({ steps }: { steps: readonly StepItem[] }) {
  const call = steps.findLast((step) => step.kind === "tool_call")?.data;
  const result = steps.findLast((step) => step.kind === "tool_result")?.data;
  const decision = steps.findLast((step) => step.kind === "approval")?.data;
  if (!call) return null;
  return (
    <>
      <Facts
        facts={[
          [t("run.outcome"), result && <code>{result.outcome}</code>],
          [t("run.http"), result?.http_status],
          [t("run.risk"), call.risk],
          [t("run.attempt"), call.attempt > 0 && call.attempt],
          [t("run.took"), result?.duration_ms != null && writeTook(result.duration_ms)],
          [
            t("run.external"),
            result && t(result.external ? "run.external.yes" : "run.external.no"),
          ],
          ...(decision ? listDecision(decision) : []),
          [
            t("run.cost"),
            result && (
              <>
                <Cost sum={result.cost} /> {result.cost !== null && t("column.sar")}
              </>
            ),
          ],
        ]}
      />
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

function listDecision({ event, approval }: DecisionStep): Fact[] {
  const { decided_by, decided_at, reason, id } = approval;
  if (event === "requested") {
    const link = <a href={`/console/approvals/${id}`}>{t("run.approval")}</a>;
    return [
      [
        t("run.waiting"),
        <>
          {t("run.waiting.person")} {link}
        </>,
      ],
    ];
  }
  const says =
    event === "approved" || event === "rejected"
      ? t("run.decided.says", t(WORDS[event]), decided_by?.id ?? "")
      : t(event === "expired" ? "run.decided.clock" : "run.decided.closed");
  return [
    [
      t("run.decided"),
      <span key="decided" title={decided_at ? writeExact(decided_at) : ""}>
        <Outside text={says} />
      </span>,
    ],
    [t("run.reason"), reason && <Outside text={reason} />],
  ];
}
