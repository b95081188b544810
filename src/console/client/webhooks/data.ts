// Endpoints and deliveries as the operator API gives them, and their states in words.
import { t } from "../texts.ts";

export interface ShownEndpoint {
  id: string;
  account: string;
  url: string;
  events: string[];
  description?: string | null;
  status: "enabled" | "disabled";
  disabled_reason?: "manual" | "failing" | "gone" | null;
  disabled_at?: string | null;
  failing_since?: string | null;
  last_success_at?: string | null;
  previous_secret_expires_at?: string | null;
  pending_deliveries: number;
  last_answer_at: string | null;
  last_answer_status: number | null;
  last_answer_error: string | null;
  delivered_24h: number;
  failed_24h: number;
  created_at: string;
}

export interface ListedDelivery {
  id: string;
  event_id: string;
  event_type: string;
  status: "pending" | "delivered" | "failed" | "cancelled";
  attempt_count: number;
  next_attempt_at?: string | null;
  last_response_status?: number | null;
  last_error?: string | null;
  created_at: string;
  completed_at?: string | null;
}

export interface ShownAttempt {
  number: number;
  kind: "scheduled" | "replay" | "test";
  started_at: string;
  duration_ms: number;
  response_status: number | null;
  response_body: string | null;
  error: string | null;
  url: string | null;
  headers: Record<string, string> | null;
  signatures: number | null;
  signed_head: string | null;
}

export interface OpenedDelivery extends ListedDelivery {
  attempts: ShownAttempt[];
  body: string | null;
}

interface NamedState {
  shape: string;
  tone: "ok" | "run" | "warn" | "bad" | "over" | "mute";
  word: string;
}

export type Health = "on" | "failing" | "off";

export function readHealth({ status, failing_since }: ShownEndpoint): Health {
  if (status === "disabled") return "off";
  return failing_since ? "failing" : "on";
}

/** An endpoint that the system has disabled needs a person; its owner's switch does not. */
export function readEndpointState(endpoint: ShownEndpoint): NamedState {
  const health = readHealth(endpoint);
  const word = t(`webhooks.is.${health}`);
  if (health === "on") return { shape: "on", tone: "ok", word };
  if (health === "failing") return { shape: "failed", tone: "bad", word };
  if (endpoint.disabled_reason === "manual") return { shape: "off", tone: "mute", word };
  return { shape: "blocked", tone: "bad", word };
}

const DELIVERY_LOOKS = {
  pending: { shape: "waiting", tone: "warn" },
  delivered: { shape: "ok", tone: "ok" },
  failed: { shape: "failed", tone: "bad" },
  cancelled: { shape: "cancelled", tone: "mute" },
} as const;

/** A first attempt that is due is no matter for a person; a retry is. */
export function readDeliveryState({ status, attempt_count }: ListedDelivery): NamedState {
  const word = t(`webhooks.delivery.${status}`);
  if (status === "pending" && attempt_count === 0) return { shape: "queued", tone: "mute", word };
  return { ...DELIVERY_LOOKS[status], word };
}

/** A status of HTTP in a word and number, or that no answer came. */
export function nameAnswer(status: number | null | undefined, wasTried: boolean): string {
  if (!wasTried) return "–";
  return status === null || status === undefined ? t("webhooks.no_answer") : String(status);
}
