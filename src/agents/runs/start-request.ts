// The request that starts a run: its body, its budgets and its idempotency key.
import { type Static, Type } from "@sinclair/typebox";
import { Uuid } from "../../http/index.ts";
import { apiError } from "../../platform/errors.ts";
import { writeCanonical } from "../../platform/json.ts";
import { formatMoney, parseMoney } from "../../platform/money.ts";
import { maybe, withRules } from "../../platform/schema.ts";
import { SentMetadata, validateMetadata } from "../definitions/agent.ts";
import { type Budgets, COUNT_MAX } from "../definitions/version.ts";
import { RunQuestion } from "./question.ts";
import type { Idempotency } from "./store/start.ts";

const AMOUNT_CHARACTERS_MAX = 24;

const lower = (what: string, minimum: number) =>
  Type.Optional(
    maybe(
      Type.Integer({
        description: `${what}; null or left out: the version's.`,
        minimum,
        maximum: COUNT_MAX,
      }),
    ),
  );

const LowerBudgets = Type.Object(
  {
    max_cost_sar: Type.Optional(
      Type.Union(
        [
          Type.String({ maxLength: AMOUNT_CHARACTERS_MAX }),
          Type.Number({ minimum: 0 }),
          Type.Null(),
        ],
        { description: "SAR, as text or number; null or left out: the version's." },
      ),
    ),
    max_rounds: lower("Model rounds of the run", 1),
    max_tool_calls: lower("Tool calls of the run", 0),
    max_total_tokens: lower("Tokens read and written", 1),
    max_run_seconds: lower("Seconds of work, waiting for approvals not counted", 1),
  },
  { additionalProperties: false, description: "Bounds of this run: they may only be lower." },
);
type LowerBudgets = Static<typeof LowerBudgets>;

export const StartRun = withRules(
  Type.Object(
    {
      input: RunQuestion,
      thread_id: Type.Optional(
        maybe(Uuid("The thread that the run adds to; null or left out: one of its own.")),
      ),
      metadata: Type.Optional(maybe(SentMetadata)),
      budgets: Type.Optional(maybe(LowerBudgets)),
    },
    {
      $id: "StartRun",
      additionalProperties: false,
      description: "What a run is started with.",
      examples: [
        { input: { message: "What is 12.5 % of 80?" } },
        {
          input: { message: "And of 90?" },
          budgets: { max_cost_sar: "0.50" },
          metadata: { ticket: "A-17" },
        },
      ],
    },
  ),
  { metadata: ({ metadata }) => validateMetadata(metadata) },
);
export type StartRun = Static<typeof StartRun>;

/** Lowers a version's budgets; higher ones are rejected. */
export function lowerBudgets(
  budgets: Budgets,
  requested: LowerBudgets | null | undefined,
): Budgets {
  if (!requested) return budgets;
  const lowered: Budgets = { ...budgets };
  const cost = readAmount(requested.max_cost_sar);
  if (cost !== null) {
    const bound = budgets.max_cost_sar === null ? null : parseMoney(budgets.max_cost_sar);
    requireLower("max_cost_sar", cost, bound);
    lowered.max_cost_sar = formatMoney(cost);
  }
  for (const name of COUNTS) {
    const wanted = requested[name] ?? null;
    if (wanted === null) continue;
    requireLower(name, wanted, budgets[name]);
    lowered[name] = wanted;
  }
  return lowered;
}
const COUNTS = ["max_rounds", "max_tool_calls", "max_total_tokens", "max_run_seconds"] as const;

/** Reads an amount as micro-SAR; null without one. */
function readAmount(amount: LowerBudgets["max_cost_sar"]): number | null {
  if (amount === undefined || amount === null) return null;
  try {
    return parseMoney(String(amount));
  } catch {
    const says = 'must be an amount such as "1.20", with at most six decimals';
    throw budgetError("max_cost_sar", says);
  }
}

function requireLower(name: string, wanted: number, bound: number | null): void {
  if (bound === null || wanted <= bound) return;
  throw budgetError(name, "may only be lower than the version's");
}

/** agents.errors.invalid_request */
function budgetError(name: string, says: string) {
  const param = `budgets.${name}`;
  return apiError("invalid_request", { param, message: `\`${param}\` ${says}.` });
}

const KEY_HEADER = "Idempotency-Key";
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,128}$/;

export function readIdempotency(request: Request, body: unknown): Idempotency | undefined {
  const key = request.headers.get(KEY_HEADER);
  return key === null ? undefined : makeIdempotency(key, body);
}

export function makeIdempotency(key: string, body: unknown): Idempotency {
  if (!IDEMPOTENCY_KEY.test(key)) {
    const message = `The header ${KEY_HEADER} must have 1 to 128 printable ASCII characters.`;
    throw apiError("validation", { param: KEY_HEADER, message });
  }
  // Canonical text makes the order of fields irrelevant.
  const body_hash = new Bun.CryptoHasher("sha256").update(writeCanonical(body)).digest("hex");
  return { key, body_hash };
}
