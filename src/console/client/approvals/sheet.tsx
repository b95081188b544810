// One approval: what to look at first, the arguments, the reasons, and the decision.
import { useSignal } from "@preact/signals";
import { shortenId, writeClock, writeExact, writeSpan } from "../format.ts";
import { now, useResource } from "../live.ts";
import { Ago, copyText, FailureNote, Icon, Outside } from "../parts.tsx";
import { t } from "../texts.ts";
import { type ApprovalDetail, listArguments, listWarnings, type Warning } from "./data.ts";
import { Decision } from "./decision.tsx";

const RISK_TONES = { read: "", write: "warn", irreversible: "bad" };

export function Sheet({ id, onDecided }: { id: string; onDecided(): void }) {
  const resource = useResource<ApprovalDetail>(`/approvals/${id}`, [`approvals:${id}`]);
  const { data, failure } = resource.value;
  if (!data) {
    return (
      <article class="ask" aria-busy={!failure}>
        <div class="page">
          {failure?.status === 404 ? (
            <p class="soft">{t("approvals.missing", shortenId(id))}</p>
          ) : (
            failure && <FailureNote what={t("page.approvals")} failure={failure} />
          )}
        </div>
      </article>
    );
  }
  const warnings = listWarnings(data, now.value);
  return (
    <article class="ask" aria-label={data.approval.tool}>
      <div class="sheet">
        <Head detail={data} />
        <div class="body">
          {warnings.length > 0 && <First warnings={warnings} />}
          <Arguments detail={data} warnings={warnings} />
          <Why detail={data} />
          <Sources detail={data} />
          <Next detail={data} />
        </div>
        <Facts detail={data} />
      </div>
      <Decision detail={data} onDecided={onDecided} />
    </article>
  );
}

function Head({ detail }: { detail: ApprovalDetail }) {
  const { approval, agent_name } = detail;
  const { tool, risk, status, expires_at, requested_at } = approval;
  const leftMs = Date.parse(expires_at) - now.value;
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
          <b>
            <Outside text={agent_name ?? approval.agent_id} />
          </b>
        </span>
      </p>
      <h2 class="title">
        <bdi>{tool}</bdi>
      </h2>
      <p class="row line">
        <span class={`risk ${RISK_TONES[risk]}`}>
          <Icon id={`s-${risk}`} size={12} />
          {t(`risk.${risk}`)}
        </span>
        <span class="soft">{t(`risk.${risk}.says`)}</span>
      </p>
      {detail.tool_description && (
        <p class="soft">
          <Outside text={detail.tool_description} />
        </p>
      )}
    </header>
  );
}

function First({ warnings }: { warnings: readonly Warning[] }) {
  return (
    <section class="note" aria-label={t("approvals.first")}>
      <Icon id="i-alert" />
      <div>
        {warnings.map(({ title, says }) => (
          <div key={title}>
            <b>
              <Outside text={title} />
            </b>
            <p class="soft">{says}</p>
          </div>
        ))}
      </div>
    </section>
  );
}

function Arguments({ detail, warnings }: { detail: ApprovalDetail; warnings: readonly Warning[] }) {
  const isJson = useSignal(false);
  const text = JSON.stringify(detail.approval.arguments, null, 2);
  const marked = new Set(warnings.map(({ path }) => path));
  const tab = (json: boolean, label: string) => (
    <button
      type="button"
      role="tab"
      aria-selected={isJson.value === json}
      onClick={() => {
        isJson.value = json;
      }}
    >
      {label}
    </button>
  );
  return (
    <section>
      <div class="h">
        <h3>{t("approvals.arguments")}</h3>
        <span class="end seg" role="tablist" aria-label={t("approvals.arguments.as")}>
          {tab(false, t("approvals.table"))}
          {tab(true, t("approvals.json"))}
        </span>
      </div>
      {isJson.value ? (
        <div class="code">
          <Outside text={text} />
        </div>
      ) : (
        <table class="t args">
          <thead class="vh">
            <tr>
              <th>{t("approvals.argument")}</th>
              <th>{t("approvals.value")}</th>
              <th>{t("approvals.source")}</th>
            </tr>
          </thead>
          <tbody>
            {listArguments(detail.approval.arguments).map(({ path, text: value }) => (
              <tr key={path} class={marked.has(path) ? "hit" : ""}>
                <th scope="row">
                  <Outside text={path} />
                </th>
                <td>
                  <Outside text={value} />
                </td>
                <td class="n">{findSource(value, detail)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

/** Shorter values stand in too many texts to say where they come from. */
const SOURCE_CHARACTERS_MIN = 6;

function findSource(value: string, { run_message }: ApprovalDetail): string {
  if (value.length < SOURCE_CHARACTERS_MIN || run_message === null) return "";
  return run_message.includes(value) ? t("source.input") : "";
}

function Why({ detail }: { detail: ApprovalDetail }) {
  const { why, tool, external_sources } = detail.approval;
  const says = {
    irreversible: () => t("why.irreversible", tool),
    write: () => t("why.write"),
    listed: () => t("why.listed", tool),
    external_content: () => t("why.external_content", external_sources.length),
    outcome_unknown: () => t("why.outcome_unknown"),
  };
  const icons = {
    irreversible: "s-irreversible",
    write: "s-write",
    listed: "s-todo",
    external_content: "i-globe",
    outcome_unknown: "i-alert",
  };
  return (
    <section>
      <h3>{t("approvals.why")}</h3>
      <ul class="why">
        {why.map((reason) => (
          <li key={reason}>
            <Icon id={icons[reason]} size={12} />
            <span>{says[reason]()}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Sources({ detail }: { detail: ApprovalDetail }) {
  const { external_sources } = detail.approval;
  return (
    <section>
      <h3>{t("approvals.outside")}</h3>
      {external_sources.length === 0 && <p class="dim">{t("approvals.outside.none")}</p>}
      {external_sources.map(({ seq, tool, url }) => (
        <div class="src" key={seq}>
          <p>
            <span>{t("approvals.step", seq)}</span>
            <code>{tool}</code>
            {url && (
              <span class="dim cut ltr">
                <Outside text={url} />
              </span>
            )}
          </p>
        </div>
      ))}
    </section>
  );
}

function Next({ detail }: { detail: ApprovalDetail }) {
  const { status, expires_at } = detail.approval;
  if (status !== "pending") return null;
  return (
    <section>
      <h3>{t("approvals.next")}</h3>
      <dl class="next">
        <dt>{t("approve")}</dt>
        <dd>{t("approvals.next.approve")}</dd>
        <dt>{t("reject")}</dt>
        <dd>{t("approvals.next.reject")}</dd>
        <dt>{t("answer")}</dt>
        <dd>{t("approvals.next.answer")}</dd>
        <dt>{t("approvals.next.nobody")}</dt>
        <dd>{t("approvals.next.expire", writeClock(expires_at).slice(0, 5))}</dd>
      </dl>
    </section>
  );
}

function Facts({ detail }: { detail: ApprovalDetail }) {
  const { approval, account, run_message, tool_endpoint } = detail;
  const { run_id, requested_at, expires_at, arguments_sha256: sha, status } = approval;
  return (
    <aside class="rail" aria-label={t("approvals.facts")}>
      <dl class="facts">
        <dt>{t("approvals.fact.run")}</dt>
        <dd>
          <code class="ltr" title={run_id}>
            {shortenId(run_id)}
          </code>
        </dd>
        <dt>{t("approvals.fact.account")}</dt>
        <dd>
          <bdi>{account}</bdi>
        </dd>
        {run_message !== null && (
          <>
            <dt>{t("approvals.fact.input")}</dt>
            <dd class="clip">
              <Outside text={run_message} />
            </dd>
          </>
        )}
        {tool_endpoint !== null && (
          <>
            <dt>{t("approvals.fact.endpoint")}</dt>
            <dd>
              <code class="ltr">{tool_endpoint}</code>
            </dd>
          </>
        )}
        <dt>{t("approvals.fact.asked")}</dt>
        <dd title={writeExact(requested_at)}>
          {writeClock(requested_at)}{" "}
          <span class="dim">
            <Ago at={requested_at} />
          </span>
        </dd>
        <dt>{t("approvals.fact.expires")}</dt>
        <dd title={writeExact(expires_at)}>
          {writeClock(expires_at)}{" "}
          {status === "pending" && (
            <span class="dim">
              {t("approvals.fact.expires.in", writeSpan(Date.parse(expires_at) - now.value))}
            </span>
          )}
        </dd>
        <dt>{t("approvals.fact.sha")}</dt>
        <dd>
          <button class="link" type="button" title={sha} onClick={() => copyText(sha)}>
            <code class="ltr">{`${sha.slice(0, 8)}…${sha.slice(-4)}`}</code>
          </button>
        </dd>
      </dl>
    </aside>
  );
}
