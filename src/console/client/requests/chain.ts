// The decisions about a request in their order: as asked, changed, refused, or never reached.

import { writeTook } from "../format.ts";
import { writeCount } from "../texts/plural.ts";
import { t } from "../texts.ts";
import { countToFirst, LEFT, nameSender, type RequestRow } from "./row.ts";

type StepName =
  | "key"
  | "scope"
  | "fields"
  | "model"
  | "output"
  | "limits"
  | "wait"
  | "replica"
  | "first"
  | "end";

export interface ChainStep {
  name: StepName;
  title: string;
  value: string;
  says: string;
  /** Changed or waited, refused here, or not reached. */
  state: "asked" | "changed" | "refused" | "unreached";
}

const ORDER: readonly StepName[] = [
  ...(["key", "scope", "fields", "model", "output", "limits"] as const),
  ...(["wait", "replica", "first", "end"] as const),
];

const STEP_OF_CODE: Readonly<Record<string, StepName>> = {
  invalid_api_key: "key",
  scope_required: "scope",
  not_enabled: "scope",
  validation: "fields",
  invalid_request: "fields",
  request_too_large: "fields",
  model_not_found: "model",
  model_not_permitted: "model",
  no_model_available: "model",
  model_unavailable: "model",
  context_length_exceeded: "output",
  rate_limit_exceeded: "limits",
  capacity_exceeded: "wait",
};

/** The step at which it was refused or failed; null: it was not. */
export function findFailedStep(row: RequestRow): StepName | null {
  const { code, attempts, first_token_ms, model } = row;
  if (code === null || code === LEFT) return null;
  if (first_token_ms !== null) return "end";
  if (code === "permission_denied") return model === null ? "key" : "limits";
  const known = STEP_OF_CODE[code];
  if (known) return known;
  if (code === "model_offline") return attempts === null ? "model" : "replica";
  if (code.startsWith("upstream_")) return attempts === 0 ? "wait" : "replica";
  return "end";
}

/** Lists the steps of a request; one about its body only where that was refused. */
export function explainChain(row: RequestRow): ChainStep[] {
  const refused = findFailedStep(row);
  const end = refused === null ? ORDER.length : ORDER.indexOf(refused);
  return ORDER.filter((name) => name !== "fields" || refused === "fields").map((name) => {
    const at = ORDER.indexOf(name);
    const title = t(`chain.${name}`);
    if (at > end) return { name, title, value: "", says: "", state: "unreached" };
    const { value, says, isChanged = false } = DESCRIPTIONS[name](row);
    const state = at === end ? "refused" : isChanged ? "changed" : "asked";
    return { name, title, value, says, state };
  });
}

interface Description {
  value: string;
  says: string;
  isChanged?: boolean;
}

const DESCRIPTIONS: Readonly<Record<StepName, (row: RequestRow) => Description>> = {
  key: (row) => ({
    value: nameSender(row),
    says: row.account === null ? t("chain.no_account") : t("chain.account", row.account),
  }),
  scope: ({ scope, route }) => ({ value: scope ?? t("chain.no_scope"), says: route }),
  fields: ({ code, param }) => ({ value: param ?? "", says: code ?? "" }),
  model: describeModel,
  output: describeOutput,
  limits: ({ code }) =>
    code === "rate_limit_exceeded" || code === "permission_denied"
      ? { value: t("chain.limits.reached"), says: code }
      : { value: t("chain.limits.within"), says: "" },
  wait: ({ waited_ms, code, attempts, in_flight: used, in_flight_max: places }) => ({
    value: waited_ms ? t("chain.waited", writeTook(waited_ms)) : t("chain.at_once"),
    says: attempts === 0 && code ? code : used === null ? "" : t("chain.places", used, places),
    isChanged: Boolean(waited_ms),
  }),
  replica: ({ replica, attempts, code, first_token_ms }) => ({
    value: replica ?? t("chain.replica.none"),
    says: attempts !== null && attempts > 1 ? t("chain.tries", attempts) : "",
    isChanged: (attempts ?? 0) > 1,
    ...(code !== null && code !== LEFT && first_token_ms === null && { says: code }),
  }),
  first: (row) => {
    const first = countToFirst(row);
    return first === null
      ? { value: row.is_stream ? "–" : t("chain.whole"), says: "" }
      : { value: writeTook(first), says: t("chain.sent") };
  },
  end: ({ code, finish_reason, route }) => {
    if (code === LEFT) return { value: t("requests.left"), says: "", isChanged: true };
    if (code !== null) return { value: code, says: t("chain.in_stream") };
    const isCut = finish_reason === "length";
    const value = finish_reason ?? (route === "chat" ? "–" : t("chain.answered"));
    return { value, says: isCut ? t("chain.cut") : "", isChanged: isCut };
  },
};

function describeModel({ model, model_asked, code }: RequestRow): Description {
  const asked = model_asked ?? t("chain.none_asked");
  if (model === null) return { value: asked, says: code ?? t("chain.model.none") };
  if (model_asked === null) return { value: model, says: t("chain.model.default") };
  if (model === model_asked) return { value: model, says: t("chain.as_asked") };
  return { value: `${asked} → ${model}`, says: t("chain.model.means"), isChanged: true };
}

function describeOutput(row: RequestRow): Description {
  const { max_tokens: allowed, max_tokens_asked: asked, max_tokens_by: by, code } = row;
  if (allowed === null || by === null) {
    return { value: "–", says: code === "context_length_exceeded" ? code : "" };
  }
  const isCut = asked !== null && asked > allowed;
  const value = isCut ? `${writeCount(asked)} → ${writeCount(allowed)}` : writeCount(allowed);
  return { value, says: t(`chain.output.${by}`), isChanged: isCut };
}
