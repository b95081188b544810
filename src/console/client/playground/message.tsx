// One message of the conversation; an answer says how its request went.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ApiFailure } from "../api.ts";
import { shortenId } from "../format.ts";
import { useResource } from "../live.ts";
import { CodeLink, Money, Outside, State } from "../parts.tsx";
import { t } from "../texts.ts";
import type { PlaygroundMessage } from "./stream.ts";

export interface SaidMessage extends PlaygroundMessage {
  id: number;
  /** Id of the key that it was sent as. */
  key?: string;
  state: "done" | "running" | "stopped" | "failed";
  requestId?: string | null;
  failure?: ApiFailure;
}

/** The row of the request log; it is written a moment after the end. */
interface SentRequest {
  request_id: string;
  model: string | null;
  first_token_ms: number | null;
  duration_ms: number;
  prompt_tokens: number | null;
  completion_tokens: number | null;
  usage_estimated: boolean;
  cost: string | null;
}

export function MessageView({ message }: { message: SaidMessage }) {
  const { role, content, state, key, requestId, failure } = message;
  return (
    <li class="message">
      <span class="dim">{t(`playground.role.${role}`)}</span>
      <div>
        {content !== "" && (
          <p class="said">
            <Outside text={content} />
          </p>
        )}
        {state === "running" && (
          <State shape="running" tone="run">
            {t("playground.running")}
          </State>
        )}
        {state === "stopped" && (
          <State shape="cancelled" tone="mute">
            {t("playground.stopped")}
          </State>
        )}
        {failure && <Refusal failure={failure} />}
        {state !== "running" && key && requestId && <Outcome requestId={requestId} of={key} />}
      </div>
    </li>
  );
}

function Refusal({ failure }: { failure: ApiFailure }) {
  const { code, status, message } = failure;
  return (
    <div class="err" role="alert">
      <b>
        <CodeLink code={code} /> {status > 0 && status}
      </b>
      <p>
        <Outside text={message} />
      </p>
    </div>
  );
}

const writeMs = (ms: number): string =>
  ms < 1_000 ? t("playground.ms", ms) : t("playground.s", ms / 1_000);

/** Rows of the key that are read: more than it sends while one is written. */
const ROWS_MAX = 100;

function Outcome({ requestId, of }: { requestId: string; of: string }) {
  const row = useSignal<SentRequest | null>(null);
  const path = row.value === null ? `/requests?key=${of}&limit=${ROWS_MAX}` : null;
  const { data } = useResource<{ rows: SentRequest[] }>(path, ["requests"]).value;
  useEffect(() => {
    row.value ??= data?.rows.find(({ request_id }) => request_id === requestId) ?? null;
  }, [data]);
  const found = row.value;
  return (
    <p class="outcome dim">
      {found && (
        <>
          {found.model && <span>{found.model}</span>}
          {found.first_token_ms !== null && (
            <span>{t("playground.first", writeMs(found.first_token_ms))}</span>
          )}
          <span>{t("playground.took", writeMs(found.duration_ms))}</span>
          {found.prompt_tokens !== null && (
            <span>
              {t("playground.tokens", found.prompt_tokens, found.completion_tokens ?? 0)}
              {found.usage_estimated && ` ${t("playground.estimated")}`}
            </span>
          )}
          {found.prompt_tokens !== null && <Cost sum={found.cost} />}
        </>
      )}
      <a href={`/console/requests/${encodeURIComponent(requestId)}`}>
        {t("playground.request.of", shortenId(requestId))}
      </a>
    </p>
  );
}

function Cost({ sum }: { sum: string | null }) {
  if (sum === null) return <span>{t("playground.no_price")}</span>;
  return (
    <span>
      <Money sum={sum} /> SAR
    </span>
  );
}
