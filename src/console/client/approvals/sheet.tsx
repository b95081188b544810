// One approval: what to look at first, the arguments, the reasons, and the decision.
import { useEffect, useMemo } from "preact/hooks";
import { session } from "../api.ts";
import { shortenId, writeSpan } from "../format.ts";
import { now, useResource } from "../live.ts";
import { Icon, Outside } from "../parts.tsx";
import { Unready } from "../resource.tsx";
import { t } from "../texts.ts";
import { Arguments } from "./arguments.tsx";
import { compare, pickWarnings, type Warning } from "./comparison.ts";
import type { ApprovalDetail } from "./data.ts";
import { Decision, type Outcome, type PastApproval } from "./decision.tsx";
import { Next, Sources, Why } from "./evidence.tsx";
import { ApprovalFacts } from "./facts.tsx";
import { ShareButton } from "./share.tsx";
import { OperatorViews, useIsOperator } from "./viewer.ts";

interface SheetProps {
  id: string;
  /** Status by the list, which is read more often. */
  status: string | undefined;
  listHref: string;
  /** A decision that the sheet was told of, since it may not read it. */
  past?: PastApproval | undefined;
  /** The page has no other title. */
  isAlone?: boolean;
  onConflict?(): void;
  onDecided(outcome: Outcome, runId: string): void;
}

export function Sheet({ id, status, past, listHref, isAlone = false, ...given }: SheetProps) {
  const resource = useResource<ApprovalDetail>(`/approvals/${id}`, [`approvals:${id}`]);
  const { data: read } = resource.value;
  const data = read && past ? { ...read, approval: { ...read.approval, ...past } } : read;
  const isBehind = data !== null && status !== undefined && status !== data.approval.status;
  useEffect(() => {
    if (isBehind) resource.reload();
  }, [isBehind]);
  // The calls and texts that it is compared with stay the same while it is open.
  const compared = useMemo(() => data && compare(data), [data === null, id]);
  if (!data || !compared) {
    const says = t("approvals.missing", shortenId(id));
    const missing = { says, href: listHref, link: t("approvals.missing.list") };
    return (
      <article class="ask">
        <Unready what={t("page.approvals")} resource={resource.value} missing={missing} />
      </article>
    );
  }
  const warnings = pickWarnings(compared, data, now.value);
  const { value } = session;
  return (
    <OperatorViews.Provider value={value.kind === "signed_in" && value.role === "operator"}>
      <article class="ask" aria-label={data.tool_title ?? data.approval.tool}>
        <div class="sheet">
          <Head detail={data} isAlone={isAlone} />
          <div class="body">
            {warnings.length > 0 && (
              <First warnings={warnings} similarAt={compared.similarAt} detail={data} />
            )}
            <Arguments detail={data} compared={compared} />
            <Why detail={data} />
            <Sources compared={compared} runId={data.approval.run_id} />
            <Next detail={data} />
          </div>
          <ApprovalFacts detail={data} />
        </div>
        <Decision
          detail={data}
          onDecided={given.onDecided}
          onConflict={given.onConflict ?? resource.reload}
        />
      </article>
    </OperatorViews.Provider>
  );
}

const RISK_TONES = { read: "", write: "warn", irreversible: "bad" };

function Head({ detail, isAlone }: { detail: ApprovalDetail; isAlone: boolean }) {
  const { approval, agent_version, tool_title, tool_description } = detail;
  const { tool, risk, status, expires_at, requested_at } = approval;
  const leftMs = Date.parse(expires_at) - now.value;
  const title = <Outside text={tool_title ?? tool} />;
  return (
    <header>
      <p class="row line">
        {status === "pending" && (
          <span class="st warn">
            <Icon id="s-waiting" size={12} />
            {leftMs > 0 ? t("approvals.left", writeSpan(leftMs)) : t("approvals.over")}
          </span>
        )}
        <span class="soft">
          {t("approvals.asked", writeSpan(now.value - Date.parse(requested_at)))}{" "}
          <AgentName detail={detail} />{" "}
          {agent_version !== null && (
            <span class="dim">{t("approvals.version", agent_version)}</span>
          )}
        </span>
      </p>
      <div class="titled">
        {isAlone ? <h1 class="title">{title}</h1> : <h2 class="title">{title}</h2>}
        {useIsOperator() && status === "pending" && <ShareButton detail={detail} />}
      </div>
      <p class="row line">
        <span class={`risk ${RISK_TONES[risk]}`}>
          <Icon id={`s-${risk}`} size={12} />
          {t(`risk.${risk}`)}
        </span>
        <span class="soft">{t(`risk.${risk}.says`)}</span>
        {tool_title !== null && <code class="dim ltr">{tool}</code>}
      </p>
      {tool_description !== null && (
        <p class="soft">
          <Outside text={tool_description} />
        </p>
      )}
    </header>
  );
}

function AgentName({ detail: { approval, agent_name } }: { detail: ApprovalDetail }) {
  const name = (
    <b>
      <Outside text={agent_name ?? shortenId(approval.agent_id)} />
    </b>
  );
  return useIsOperator() ? <a href={`/console/agents/${approval.agent_id}`}>{name}</a> : name;
}

interface FirstProps {
  warnings: readonly Warning[];
  similarAt: string | null;
  detail: ApprovalDetail;
}

function First({ warnings, similarAt, detail }: FirstProps) {
  const ago = writeSpan(now.value - Date.parse(similarAt ?? ""));
  const says = ({ kind, paths, tool }: Warning): [title: string, says: string] => {
    switch (kind) {
      case "new_outside":
        return [t("first.new_outside", paths), t("first.new_outside.says", ago, tool)];
      case "outside":
        return [t("first.outside", paths), t("first.outside.says", tool)];
      case "changed":
        return [t("first.changed", paths), t("first.changed.says", ago)];
      case "hidden":
        return [t("first.hidden", paths), t("first.hidden.says")];
      case "unknown":
        return [t("first.unknown"), t("first.unknown.says")];
      case "late": {
        const leftMs = Date.parse(detail.approval.expires_at) - now.value;
        return [t("first.late"), t("first.late.says", writeSpan(leftMs))];
      }
    }
  };
  return (
    <section class="note" aria-label={t("approvals.first")}>
      <Icon id="i-alert" />
      <div>
        {warnings.map((warning) => {
          const [title, text] = says(warning);
          return (
            <div key={warning.kind}>
              <b>
                <Outside text={title} />
              </b>
              <p class="soft">{text}</p>
            </div>
          );
        })}
      </div>
    </section>
  );
}
