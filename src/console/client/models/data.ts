// Models, their traffic and their grants, as the page of models reads them.
import { type TextId, t } from "../texts.ts";

export interface ModelServer {
  name: string;
  is_up: boolean;
  is_passed_over: boolean;
  in_flight: number;
}

export interface ModelLine {
  id: string;
  is_default: boolean;
  state: "on" | "off" | "blocked";
  self_hosted: boolean;
  visibility: "public" | "private" | "internal";
  context_window: number | null;
  max_output_tokens: number | null;
  capabilities: readonly string[];
  provider: string;
  upstream: string;
  replicas: number;
  healthy_replicas: number | null;
  unit: "none" | "unknown" | "asleep" | "starting" | "up" | "stopping" | "stopped" | "failed";
  unit_changed_at: string | null;
  start_ms: number | null;
  can_stop: boolean | null;
  in_flight_max: number | null;
  waiting: number | null;
  servers: readonly ModelServer[] | null;
  price: { prompt: string; completion: string } | null;
}

export interface TrafficLine {
  model: string;
  replica: string | null;
  requests: number;
  first_token_p50_ms: number | null;
  first_token_p95_ms: number | null;
  tokens_per_second: number;
}

export interface GrantedAccount {
  name: string;
  granted_models: readonly string[];
}

export const needsGrant = ({ visibility, self_hosted }: ModelLine): boolean =>
  visibility === "private" || !self_hosted;

interface ShownState {
  shape: string;
  tone: "ok" | "run" | "warn" | "bad" | "mute";
  text: TextId;
}

const UNIT_STATES: Partial<Record<ModelLine["unit"], ShownState>> = {
  starting: { shape: "starting", tone: "run", text: "models.state.starting" },
  stopping: { shape: "off", tone: "mute", text: "models.state.stopping" },
  asleep: { shape: "off", tone: "mute", text: "models.state.asleep" },
  unknown: { shape: "off", tone: "mute", text: "models.state.asleep" },
  stopped: { shape: "off", tone: "mute", text: "models.state.stopped" },
  failed: { shape: "down", tone: "bad", text: "models.state.failed" },
};

/** The switches come first: behind them a server may still run. */
export function stateOfModel(model: ModelLine): ShownState {
  const { state, unit, replicas, healthy_replicas: up } = model;
  if (state === "blocked") return { shape: "blocked", tone: "bad", text: "models.state.blocked" };
  if (state === "off") return { shape: "off", tone: "mute", text: "models.state.off" };
  const ofUnit = UNIT_STATES[unit];
  if (ofUnit) return ofUnit;
  if (up === 0) return { shape: "down", tone: "bad", text: "models.state.down" };
  if (up !== null && up < replicas) {
    return { shape: "starting", tone: "warn", text: "models.state.degraded" };
  }
  return { shape: "on", tone: "ok", text: "models.state.on" };
}

export function stateOfServer({ is_up, is_passed_over }: ModelServer): ShownState {
  if (!is_up) return { shape: "down", tone: "bad", text: "models.state.down" };
  return is_passed_over
    ? { shape: "starting", tone: "warn", text: "models.state.passed" }
    : { shape: "on", tone: "ok", text: "models.state.ready" };
}

export type ModelAct = "on" | "off" | "block" | "unblock" | "start" | "stop";

/** Acts that a model's state allows, the likeliest first. */
export function listActs({ state, unit, can_stop }: ModelLine): ModelAct[] {
  const ofUnit: ModelAct[] =
    unit === "up"
      ? can_stop
        ? ["stop"]
        : []
      : ["asleep", "stopped", "failed", "unknown"].includes(unit)
        ? ["start"]
        : [];
  if (state === "blocked") return ["unblock"];
  if (state === "off") return ["on", "block"];
  return [...ofUnit, "off", "block"];
}

/** Says in a few words who may call it. */
export function describeCallers(model: ModelLine, accounts: readonly GrantedAccount[]): string {
  if (model.visibility === "internal") return t("models.callers.internal");
  if (!needsGrant(model)) return t("models.callers.every");
  const granted = accounts.filter(({ granted_models }) => granted_models.includes(model.id));
  if (granted.length === 0) return t("models.callers.none");
  return granted.length <= 2
    ? granted.map(({ name }) => name).join(", ")
    : t("models.callers.count", granted.length);
}

/** Writes a price without the zeros behind its second decimal. */
export const writePrice = (text: string): string => text.replace(/(\.\d\d\d*?)0+$/, "$1");
