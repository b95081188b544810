// Why a call asks, what its run had read from outside, and what happens next.
import { writeRecent } from "../format.ts";
import { now } from "../live.ts";
import { Icon, Outside, Tagged } from "../parts.tsx";
import { t } from "../texts.ts";
import type { ComparedSource, Comparison } from "./comparison.ts";
import type { ApprovalDetail } from "./data.ts";
import { useIsOperator } from "./viewer.ts";

const REASON_ICONS = {
  irreversible: "s-irreversible",
  write: "s-write",
  listed: "s-todo",
  external_content: "i-globe",
  outcome_unknown: "i-alert",
};

export function Why({ detail }: { detail: ApprovalDetail }) {
  const { why, tool, external_sources } = detail.approval;
  const says = {
    irreversible: () => t("why.irreversible", tool),
    write: () => t("why.write"),
    listed: () => t("why.listed", tool),
    external_content: () => t("why.external_content", external_sources.length),
    outcome_unknown: () => t("why.outcome_unknown"),
  };
  return (
    <section>
      <h3>{t("approvals.why")}</h3>
      <ul class="why">
        {why.map((reason) => (
          <li key={reason}>
            <Icon id={REASON_ICONS[reason]} size={12} />
            <span>{says[reason]()}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Sources({ compared, runId }: { compared: Comparison; runId: string }) {
  const { sources, otherSteps, missingSteps } = compared;
  const isNothing = sources.length + otherSteps.length + missingSteps.length === 0;
  return (
    <section>
      <h3>{t("approvals.outside")}</h3>
      {isNothing && <p class="dim">{t("approvals.outside.none")}</p>}
      {sources.map((source) => (
        <Source key={source.seq ?? 0} source={source} runId={runId} />
      ))}
      {otherSteps.length > 0 && (
        <p class="dim others">{t("approvals.outside.others", otherSteps, sources.length > 0)}</p>
      )}
      {missingSteps.length > 0 && (
        <p class="dim others">{t("approvals.outside.missing", missingSteps)}</p>
      )}
    </section>
  );
}

function Source({ source, runId }: { source: ComparedSource; runId: string }) {
  const { seq, tool, url, excerpt } = source;
  return (
    <div class="src">
      <p>
        {seq === null ? t("approvals.outside.hook") : <StepLink seq={seq} runId={runId} />}
        {tool !== null && <code class="ltr">{tool}</code>}
        {url !== null && (
          <span class="dim cut ltr">
            <Outside text={url} />
          </span>
        )}
      </p>
      <blockquote class="quote">
        <bdi dir={isRightToLeft(excerpt) ? "rtl" : "ltr"}>
          {!excerpt.isBegin && "…"}
          {excerpt.parts.map(({ text, isMark }, at) =>
            isMark ? (
              <mark key={at}>
                <Tagged text={text} />
              </mark>
            ) : (
              <Tagged key={at} text={text} />
            ),
          )}
          {!excerpt.isEnd && "…"}
        </bdi>
      </blockquote>
    </div>
  );
}

/** A cut text may begin in another direction than most of it has. */
function isRightToLeft({ parts }: ComparedSource["excerpt"]): boolean {
  const text = parts.map((part) => part.text).join("");
  const count = (letters: RegExp) => text.match(letters)?.length ?? 0;
  return count(/[\u0590-\u08FF\uFB1D-\uFEFC]/g) > count(/\p{L}/gu) / 2;
}

/** Leads to the step for those who may see runs. */
function StepLink({ seq, runId }: { seq: number; runId: string }) {
  const text = t("approvals.step", seq);
  return useIsOperator() ? (
    <a href={`/console/runs/${runId}?step=${seq}`}>{text}</a>
  ) : (
    <span>{text}</span>
  );
}

export function Next({ detail }: { detail: ApprovalDetail }) {
  const { approval, on_approval_expired } = detail;
  const { status, expires_at, why } = approval;
  if (status !== "pending") return null;
  const at = writeRecent(expires_at, now.value);
  const isAgain = why.includes("outcome_unknown");
  const end =
    on_approval_expired === "continue" || on_approval_expired === "fail"
      ? t(`approvals.next.${on_approval_expired}`, at)
      : t("approvals.next.expire", at);
  return (
    <section>
      <h3>{t("approvals.next")}</h3>
      <dl class="next">
        <dt>{t("approve")}</dt>
        <dd>{t(isAgain ? "approvals.next.again" : "approvals.next.approve")}</dd>
        <dt>{t("reject")}</dt>
        <dd>{t("approvals.next.reject")}</dd>
        <dt>{t("answer")}</dt>
        <dd>{t("approvals.next.answer")}</dd>
        <dt>{t("approvals.next.nobody")}</dt>
        <dd>{end}</dd>
      </dl>
    </section>
  );
}
