// One delivery: each attempt with what was sent and what was answered.
import { useRef } from "preact/hooks";
import { ActButton, useActs } from "../acts.tsx";
import { type Fact, Facts } from "../facts.tsx";
import { useQuery } from "../filters.tsx";
import { shortenId, writeClock, writeExact } from "../format.ts";
import { CodeBlock, indent } from "../json.tsx";
import { useResource } from "../live.ts";
import { Icon, Outside, State } from "../parts.tsx";
import { Unready } from "../resource.tsx";
import { t } from "../texts.ts";
import { When } from "../when.tsx";
import { nameAnswer, type OpenedDelivery, readDeliveryState, type ShownAttempt } from "./data.ts";
import { replay } from "./deliveries.tsx";

const isDelivered = ({ response_status: status }: ShownAttempt): boolean =>
  status !== null && status >= 200 && status < 300;

function Sent({ attempt, body }: { attempt: ShownAttempt; body: string | null }) {
  const { url, headers, signatures, signed_head } = attempt;
  if (headers === null || url === null) return <p class="dim">{t("webhooks.sent.older")}</p>;
  const signature = t("webhooks.sent.signatures", signatures ?? 1);
  return (
    <>
      <p>
        <code class="nw">POST</code> <Outside text={url} />
      </p>
      <Facts
        facts={[
          ...Object.entries(headers).map(([name, value]): Fact => [name, <code>{value}</code>]),
          ["webhook-signature", <span class="dim">{signature}</span>],
        ]}
      />
      {body !== null && (
        <details>
          <summary class="link">{t("webhooks.sent.base")}</summary>
          <CodeBlock text={`${signed_head}${body}`} label={t("webhooks.sent.base")} />
        </details>
      )}
    </>
  );
}

function Answered({ attempt }: { attempt: ShownAttempt }) {
  const { response_status, duration_ms, error, response_body } = attempt;
  return (
    <>
      <p>
        {nameAnswer(response_status, true)}{" "}
        <span class="dim">{t("webhooks.after", duration_ms)}</span>
      </p>
      {error && (
        <p class="soft">
          <Outside text={error} />
        </p>
      )}
      {response_body === null ? (
        <p class="dim">{t("webhooks.answered.empty")}</p>
      ) : (
        <CodeBlock text={response_body} label={t("webhooks.answered.body")} />
      )}
    </>
  );
}

interface AttemptPartProps {
  attempt: ShownAttempt;
  body: string | null;
  isLatest: boolean;
}

function AttemptPart({ attempt, body, isLatest }: AttemptPartProps) {
  // A later attempt must not close the one that is read.
  const isOpen = useRef(isLatest).current;
  const { number, kind, started_at, response_status, duration_ms } = attempt;
  const isGood = isDelivered(attempt);
  return (
    <details class="attempt" open={isOpen}>
      <summary>
        <Icon id={isGood ? "s-ok" : "s-failed"} size={12} tone={isGood ? "ok" : "bad"} />
        <span>
          {t("webhooks.attempt", number)}{" "}
          {kind !== "scheduled" && <span class="tag">{t(`webhooks.kind.${kind}`)}</span>}
        </span>
        <span class="dim">{nameAnswer(response_status, true)}</span>
        <span class="dim n">{t("webhooks.took", duration_ms)}</span>
        <time class="dim n" dateTime={started_at} title={writeExact(started_at)}>
          {writeClock(started_at)}
        </time>
      </summary>
      <div class="body">
        <h3>{t("webhooks.sent")}</h3>
        <Sent attempt={attempt} body={body} />
        <h3>{t("webhooks.answered")}</h3>
        <Answered attempt={attempt} />
      </div>
    </details>
  );
}

function About({ delivery }: { delivery: OpenedDelivery }) {
  const { event_id, created_at, next_attempt_at: next, last_error, attempts } = delivery;
  return (
    <Facts
      facts={[
        ["webhook-id", <code>{event_id}</code>],
        [t("webhooks.column.created"), <When at={created_at} />],
        [t("webhooks.column.next"), next && <When at={next} />],
        [
          t("webhooks.fact.error"),
          attempts.length === 0 && last_error ? <Outside text={last_error} /> : null,
        ],
      ]}
    />
  );
}

export function DeliveryDetail({ id, onReplayed }: { id: string; onReplayed(): void }) {
  const [, change] = useQuery();
  const opened = useResource<OpenedDelivery>(`/deliveries/${encodeURIComponent(id)}`, ["webhooks"]);
  const acts = useActs();
  const { data: delivery } = opened.value;
  const done = () => {
    opened.reload();
    onReplayed();
  };
  const look = delivery && readDeliveryState(delivery);
  return (
    <section class="detail" aria-label={t("webhooks.delivery.one")}>
      <button class="unpick link" type="button" onClick={() => change({ delivery: "" })}>
        {t("webhooks.deliveries.back")}
      </button>
      <Unready
        what={t("webhooks.delivery.one")}
        resource={opened.value}
        missing={{
          says: t("webhooks.delivery.missing", shortenId(id)),
          ...{ href: location.pathname, link: t("webhooks.deliveries.back") },
        }}
      />
      {delivery && look && (
        <>
          <div class="h">
            <h2>
              <code>{delivery.event_type}</code>
            </h2>
            <State shape={look.shape} tone={look.tone}>
              {look.word}
            </State>
            <span class="end">
              <ActButton verb={t("webhooks.replay")} acts={acts} work={() => replay(id, done)} />
            </span>
          </div>
          {acts.note}
          <section>
            <About delivery={delivery} />
          </section>
          <section>
            <h2>{t("webhooks.attempts", delivery.attempts.length)}</h2>
            {delivery.attempts.toReversed().map((attempt, at) => (
              <AttemptPart
                key={attempt.number}
                attempt={attempt}
                body={delivery.body}
                isLatest={at === 0}
              />
            ))}
          </section>
          <section>
            <h2>{t("webhooks.body")}</h2>
            {delivery.body === null ? (
              <p class="dim">{t("webhooks.body.gone")}</p>
            ) : (
              <CodeBlock text={indent(delivery.body)} label={t("webhooks.body")} />
            )}
          </section>
        </>
      )}
    </section>
  );
}
