// Triggers and fires as the operator API gives them, and their states in words.
import { countMarks, type Mark } from "../marks.tsx";
import { t } from "../texts.ts";

export type FireOutcomeName =
  | "started"
  | "skipped"
  | "held"
  | "refused"
  | "limited"
  | "missed"
  | "failed";

export interface ListedFire {
  id: string;
  outcome: FireOutcomeName;
  run_id: string | null;
  created_at: string;
}

export interface OpenedFire extends ListedFire {
  source: "cron" | "webhook" | "manual";
  scheduled_at: string | null;
  missed_count: number;
  error: { code: string; message: string } | null;
}

export interface ShownTrigger {
  id: string;
  account: string;
  agent_id: string;
  agent_name: string | null;
  name: string;
  kind: "cron" | "webhook";
  status: "active" | "paused";
  paused_reason?: {
    type: "manual" | "key" | "agent" | "model";
    code?: string | null;
    message: string;
    at: string;
  } | null;
  cron?: string | null;
  time_zone?: string | null;
  overlap: "skip" | "allow";
  hook_path?: string | null;
  key_id: string;
  next_fire_at?: string | null;
  upcoming: string[];
  last_fire_at?: string | null;
  previous_secret_expires_at?: string | null;
}

export interface ListedTriggerRow extends ShownTrigger {
  recent_fires: ListedFire[];
}

export interface OpenedTriggerRow extends ShownTrigger {
  key_name: string | null;
  input?: { message: string } | null;
}

/** A pause by the system needs a person. */
export type TriggerState = "active" | "paused" | "stopped";

export function readTriggerState({ status, paused_reason }: ShownTrigger): TriggerState {
  if (status === "active") return "active";
  return paused_reason && paused_reason.type !== "manual" ? "stopped" : "paused";
}

export const TRIGGER_STATES = {
  active: { shape: "on", tone: "ok" },
  paused: { shape: "paused", tone: "mute" },
  stopped: { shape: "blocked", tone: "bad" },
} as const;

const OUTCOMES = {
  started: { shape: "ok", tone: "ok" },
  skipped: { shape: "cancelled", tone: "mute" },
  held: { shape: "paused", tone: "mute" },
  refused: { shape: "blocked", tone: "bad" },
  limited: { shape: "waiting", tone: "warn" },
  missed: { shape: "expired", tone: "warn" },
  failed: { shape: "failed", tone: "bad" },
} as const;

export const readOutcome = (outcome: FireOutcomeName) => ({
  ...OUTCOMES[outcome],
  word: t(`triggers.outcome.${outcome}`),
});

/** The newest fires, oldest first, and a sentence that counts them. */
export function listFireMarks(fires: readonly ListedFire[]): { marks: Mark[]; says: string } {
  const words = fires.map(({ outcome }) => t(`triggers.outcome.${outcome}`).toLowerCase());
  const marks = fires.map(({ id, outcome }, at) => ({
    ...{ id, tone: readOutcome(outcome).tone, says: words[at]! },
  }));
  const says = fires.length === 0 ? t("triggers.never") : t("triggers.marks", countMarks(words));
  return { marks: marks.toReversed(), says };
}
