// A row explained: the chain of decisions, the time, and one sentence with what to do.
import { formatCurl } from "../curl.ts";
import { copyText, Outside } from "../parts.tsx";
import { Sentence } from "../sentence.tsx";
import { type TextId, t } from "../texts.ts";
import { type ChainStep, explainChain, findFailedStep } from "./chain.ts";
import { Lane } from "./lane.tsx";
import { LEFT, type RequestRow } from "./row.ts";

const CLASSES = { asked: "", changed: "w", refused: "no", unreached: "off" };

function Step({ title, value, says, state }: ChainStep) {
  return (
    <li class={CLASSES[state]}>
      <p class="dim">
        {title}
        {state !== "asked" && <span class="vh">, {t(`chain.is.${state}`)}</span>}
      </p>
      <p>
        <Outside text={value} />
      </p>
      <p class="dim">
        <Outside text={says} />
      </p>
    </li>
  );
}

/** Codes whose sentence says what an operator can do. */
const ADVICE: Readonly<Record<string, TextId>> = {
  scope_required: "advice.scope_required",
  model_not_found: "advice.model_not_found",
  model_not_permitted: "advice.model_not_permitted",
  no_model_available: "advice.model_offline",
  model_offline: "advice.model_offline",
  model_unavailable: "advice.model_offline",
  context_length_exceeded: "advice.context_length_exceeded",
  rate_limit_exceeded: "advice.rate_limit_exceeded",
  upstream_rate_limited: "advice.busy",
  capacity_exceeded: "advice.busy",
  upstream_timeout: "advice.upstream",
  upstream_error: "advice.upstream",
};

function Happened({ row }: { row: RequestRow }) {
  const { code, finish_reason, max_tokens, max_tokens_by, completion_tokens, reason } = row;
  if (code === LEFT) return <>{t("happened.left")}</>;
  if (code !== null) {
    const refusal = findFailedStep(row);
    const advice = ADVICE[code];
    return (
      <>
        <Sentence
          text={t(refusal === "end" ? "happened.broke" : "happened.refused")}
          parts={[<code key="code">{code}</code>]}
        />{" "}
        {reason && (
          <>
            <Outside text={reason} />{" "}
          </>
        )}
        {advice && <span class="soft">{t(advice as "advice.busy")} </span>}
        <a href={`/docs/errors#${code}`}>{t("happened.docs")}</a>
      </>
    );
  }
  if (finish_reason === "length") {
    const by = max_tokens_by ?? "request";
    const name = <Outside key="name" text={row.key ?? row.key_id} />;
    return (
      <>
        <Sentence text={t(`happened.cut.${by}`, max_tokens ?? 0)} parts={[name]} />{" "}
        <span class="soft">{t(`advice.cut.${by}`)}</span>
      </>
    );
  }
  return <>{t("happened.answered", completion_tokens)}</>;
}

/** The body is not stored: the caller's messages stand as a place to fill. */
function writeRequest({ route, model_asked, max_tokens_asked, is_stream }: RequestRow): string {
  if (route === "embeddings") return formatCurl("/v1/embeddings", { input: "…" });
  if (route === "search") return formatCurl("/v1/search", { query: "…" });
  return formatCurl("/v1/chat/completions", {
    ...(model_asked !== null && { model: model_asked }),
    messages: [{ role: "user", content: "…" }],
    ...(max_tokens_asked !== null && { max_tokens: max_tokens_asked }),
    ...(is_stream && { stream: true }),
  });
}

export function Explained({ row }: { row: RequestRow }) {
  return (
    <div>
      <h2 class="vh">{t("requests.explained", row.request_id)}</h2>
      <ol class="chain" aria-label={t("chain.label")}>
        {explainChain(row).map((step) => (
          <Step key={step.name} {...step} />
        ))}
      </ol>
      <Lane row={row} />
      <div class="h told">
        <p>
          <Happened row={row} />
        </p>
        <span class="end">
          <button
            class="link p2"
            type="button"
            title={t("requests.copy_id")}
            onClick={() => copyText(row.request_id)}
          >
            <code class="dim">
              <Outside text={row.request_id} />
            </code>
          </button>
          {row.run_id !== null && (
            <a class="b" href={`/console/runs/${row.run_id}`}>
              {t("requests.open_run")}
            </a>
          )}
          <button class="b" type="button" onClick={() => copyText(writeRequest(row))}>
            {t("requests.curl")}
          </button>
          <a class="b" href={`/console/keys?key=${row.key_id}`}>
            {t("requests.open_key")}
          </a>
        </span>
      </div>
    </div>
  );
}
