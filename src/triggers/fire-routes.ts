// The routes of a trigger's fires: pages of them, and one more by hand.
import { Type } from "@sinclair/typebox";
import { BEFORE, decodePosition, encodePosition, IdParams, type Router } from "../http/index.ts";
import { type ApiError, apiError, ERROR_CODES, type ErrorCode } from "../platform/errors.ts";
import { oneOf, show } from "../platform/schema.ts";
import type { DiskSpace } from "../storage/index.ts";
import { Fire, type FireOutcome, type FireRow, OUTCOMES } from "./fire.ts";
import type { FireTrigger } from "./fire-run.ts";
import type { Triggers } from "./triggers.ts";
import { FiredByHand, FirePage, judgePause } from "./view.ts";

const FIRES = "/v1/triggers/:id/fires";
const LIMIT = { default: 50, minimum: 1, maximum: 200 };
/** agents.authentication.3: a key without `agents` is always refused here. */
const scoped = { scope: "agents", isScopeCertain: true } as const;

const FiresQuery = Type.Object({
  outcome: Type.Optional(oneOf(OUTCOMES, "Only fires of which this came.")),
  limit: Type.Optional(
    Type.Integer({ ...LIMIT, description: "Fires of a page: 1 to 200; left out: 50." }),
  ),
  before: BEFORE,
});

/** agents.endpoints.triggers.p1, agents.does.trigger */
export function openFireRoutes(
  door: Router,
  triggers: Triggers,
  fire: FireTrigger,
  disk: Pick<DiskSpace, "require">,
): void {
  openList(door, triggers);
  openFiring(door, triggers, fire, disk);
}

function openList(door: Router, triggers: Triggers): void {
  door.get(
    FIRES,
    {
      summary: "List a trigger's fires",
      description: "Each time that it went off, and what came of it; kept for 30 days or longer.",
      ...scoped,
      params: IdParams,
      query: FiresQuery,
      replies: { 200: { description: "A page of fires, newest first.", schema: FirePage } },
      refusals: ["trigger_not_found"],
    },
    async ({ params, query, caller: { account_id } }) => {
      const { id: trigger_id } = await triggers.require(params.id, account_id);
      const outcome = (query.outcome as FireOutcome | undefined) ?? null;
      const { limit = LIMIT.default } = query;
      // Another filter is another list.
      const list = `fires ${trigger_id} ${outcome}`;
      const before = query.before === undefined ? null : decodePosition(list, query.before);
      // One more than is shown tells whether there is more.
      const found = await triggers.listFires({ trigger_id, outcome, before, limit: limit + 1 });
      const rows = found.slice(0, limit);
      return [
        200,
        { data: rows.map((row) => show(Fire, row)), next_before: goOn(list, found, rows) },
      ];
    },
  );
}

function goOn(list: string, found: readonly FireRow[], rows: readonly FireRow[]): string | null {
  if (found.length === rows.length) return null;
  const { created_at: at, id } = rows.at(-1)!;
  return encodePosition(list, { at, id });
}

function openFiring(
  door: Router,
  triggers: Triggers,
  fire: FireTrigger,
  disk: Pick<DiskSpace, "require">,
): void {
  door.post(
    FIRES,
    {
      summary: "Fire a trigger now",
      description:
        "A run of the kind `manual`, which acts for the trigger's key; its schedule stays as it " +
        "is. Neither that key nor this one may decide its approvals.",
      ...scoped,
      feature: "triggers",
      params: IdParams,
      replies: {
        202: {
          description: "The fire: `started`, or `skipped` for an earlier run.",
          schema: FiredByHand,
        },
      },
      refusals: [
        ...(["trigger_not_found", "trigger_paused", "agent_held", "thread_busy"] as const),
        ...(["active_runs_limit", "daily_runs_limit", "no_model_available"] as const),
        ...(["thread_not_found", "thread_agent_mismatch", "storage_limit_reached"] as const),
      ],
      refusal_sentences: {
        trigger_paused:
          "The trigger is paused, or this fire has paused it: its key has ended, or agent or " +
          "model refuse it.",
      },
    },
    async ({ params, caller: { account_id, key_id } }) => {
      const trigger = await triggers.require(params.id, account_id);
      // agents.errors.trigger_paused
      if (judgePause(trigger).status === "paused") throw apiError("trigger_paused");
      disk.require();
      const fired = await fire({ trigger, source: "manual", fired_by_key_id: key_id });
      switch (fired.kind) {
        case "gone":
          throw apiError("trigger_not_found");
        case "paused":
          throw apiError("trigger_paused");
        default: {
          const refusal = judgeFire(fired.fire, "retry_after" in fired ? fired.retry_after : null);
          if (refusal) throw refusal;
          return [202, { fire: show(Fire, fired.fire) }];
        }
      }
    },
  );
}

/** What who fires by hand is told where no run was started; null: one was, or one runs already. */
function judgeFire({ outcome, error }: FireRow, retry_after: string | null): ApiError | null {
  if (outcome === "started" || outcome === "skipped") return null;
  const message = error?.message;
  // agents.states.p12
  if (outcome === "refused") {
    return apiError("trigger_paused", {
      message: `The fire was refused, which pauses it: ${message}`,
    });
  }
  const code =
    error !== null && error.code in ERROR_CODES ? (error.code as ErrorCode) : "internal_error";
  return apiError(code, {
    message,
    ...(retry_after && { headers: { "retry-after": retry_after } }),
  });
}
