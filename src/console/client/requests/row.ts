// A row of the request log as the operator API shows it.
import { shortenId } from "../format.ts";
import { t } from "../texts.ts";

export interface RequestRow {
  id: string;
  request_id: string;
  at: string;
  account_id: string | null;
  account: string | null;
  key_id: string;
  key: string | null;
  route: "chat" | "embeddings" | "search";
  run_id: string | null;
  /** Operator who sent it from the playground; absent where the server does not tell it. */
  sent_by_operator?: string | null;
  scope: string | null;
  model_asked: string | null;
  model: string | null;
  max_tokens_asked: number | null;
  max_tokens: number | null;
  max_tokens_by: "request" | "default" | "model" | "key" | "service" | null;
  attempts: number | null;
  waited_ms: number | null;
  in_flight: number | null;
  in_flight_max: number | null;
  replica: string | null;
  is_stream: boolean;
  first_token_ms: number | null;
  duration_ms: number;
  gateway_us: number | null;
  status: number;
  code: string | null;
  param: string | null;
  reason: string | null;
  finish_reason: string | null;
  prompt_tokens: number | null;
  completion_tokens: number | null;
  usage_estimated: boolean;
  cost: string | null;
}

/** Names who sent it: the key, or the operator at the playground. */
export const nameSender = ({ key, key_id, sent_by_operator }: RequestRow): string =>
  sent_by_operator ? t("requests.playground", sent_by_operator) : (key ?? shortenId(key_id));

export const LEFT = "client_closed_request";

/** Shape and tone of its outcome; a stream can fail behind a good status. */
export function outcomeOf({ status, code }: RequestRow) {
  if (code === LEFT) return { shape: "cancelled", tone: "mute" } as const;
  if (status >= 500 || (status < 400 && code !== null)) {
    return { shape: "failed", tone: "bad" } as const;
  }
  return status >= 400
    ? ({ shape: "blocked", tone: "warn" } as const)
    : ({ shape: "ok", tone: "ok" } as const);
}

/** Milliseconds from the last place in a queue to the first token. */
export const countToFirst = ({ first_token_ms, waited_ms }: RequestRow): number | null =>
  first_token_ms === null ? null : Math.max(0, first_token_ms - (waited_ms ?? 0));
