// Routes of triggers and of their fires.
import { RotateSecret, readOverlap } from "../crypto/index.ts";
import { answerList, IdParams, type ListParts, type Router, readPage } from "../http/index.ts";
import { type ApiError, apiError, ERROR_CODES, type ErrorCode } from "../platform/errors.ts";
import { show } from "../platform/schema.ts";
import type { TriggersDeps } from "./deps.ts";
import { Fire, type FireRow } from "./fire.ts";
import type { FireTrigger } from "./fire-run.ts";
import { NewTrigger, TriggerPatch } from "./input.ts";
import { readPages } from "./store/lookup.ts";
import { Trigger } from "./trigger.ts";
import type { TriggerAndSecret, Triggers } from "./triggers.ts";
import {
  FiredByHand,
  FirePage,
  FiresQuery,
  resolveStatus,
  showTrigger,
  TriggerList,
  TriggerWithSecret,
} from "./view.ts";

const PATH = "/v1/triggers";
const ONE = `${PATH}/:id` as const;
const FIRES = `${ONE}/fires` as const;
/** Maximum triggers read at once: an input may take 400 KB, computing the next fires 250 µs. */
const TRIGGERS_AT_ONCE = 20;
const shown = { 200: { description: "The trigger without its secret.", schema: Trigger } };
/** agents.authentication.3 */
const scoped = { scope: "agents", isScopeCertain: true } as const;

/** agents.endpoints.triggers.p1 */
export function openTriggerRoutes(
  router: Router,
  triggers: Triggers,
  fire: FireTrigger,
  deps: TriggersDeps,
): void {
  openCreation(router, triggers, deps);
  openReads(router, triggers, deps);
  openChanges(router, triggers, deps);
  openRotation(router, triggers, deps);
  openFireList(router, triggers);
  openManualFire(router, triggers, fire, deps);
}

function showWithSecret({ trigger, secret }: TriggerAndSecret, now: number) {
  const fields = showTrigger(trigger, now);
  return secret === null ? fields : { ...fields, secret };
}

/** agents.does.trigger, agents.resources.trigger */
function openCreation(
  router: Router,
  triggers: Triggers,
  { disk, settings, clock }: TriggersDeps,
): void {
  router.post(
    PATH,
    {
      summary: "Create a trigger",
      description:
        "A trigger starts runs of an agent on a schedule or on signed requests. They act for the " +
        "key that creates it, with that key's rights.",
      ...scoped,
      feature: "triggers",
      body: NewTrigger,
      replies: { 201: { description: "The trigger with its secret.", schema: TriggerWithSecret } },
      refusals: [
        "invalid_request",
        "agent_not_found",
        "agent_archived",
        "thread_not_found",
        "thread_agent_mismatch",
        "name_taken",
        "triggers_limit",
        "triggers_unavailable",
      ],
    },
    async ({ body, caller: { account_id, key_id } }) => {
      // agents.errors.permission_denied: the trigger would have no owner.
      if (account_id === null) throw apiError("permission_denied");
      disk.require();
      const { triggers: triggersMax } = settings().limits;
      const created = await triggers.create({ account_id, key_id }, body, triggersMax);
      return [201, showWithSecret(created, clock.now())];
    },
  );
}

function openReads(router: Router, triggers: Triggers, { clock, log }: TriggersDeps): void {
  async function* listAll(account_id: string): ListParts {
    const pages = readPages(TRIGGERS_AT_ONCE, (page) => triggers.list({ account_id, ...page }));
    for await (const rows of pages) yield rows.map((row) => showTrigger(row, clock.now()));
    return {};
  }
  router.get(
    PATH,
    {
      summary: "List triggers",
      ...scoped,
      replies: { 200: { description: "Every trigger, newest first.", schema: TriggerList } },
      refusals: [],
    },
    ({ caller: { account_id }, request, requestId }) =>
      account_id === null
        ? [200, { data: [] }]
        : answerList(listAll(account_id), { request, requestId, log }),
  );
  router.get(
    ONE,
    {
      summary: "Read a trigger",
      ...scoped,
      params: IdParams,
      replies: shown,
      refusals: ["trigger_not_found"],
    },
    async ({ params, caller: { account_id } }) => [
      200,
      showTrigger(await triggers.require(params.id, account_id), clock.now()),
    ],
  );
}

function openChanges(router: Router, triggers: Triggers, { clock }: TriggersDeps): void {
  router.patch(
    ONE,
    {
      summary: "Change a trigger",
      description:
        "Kind, agent and thread cannot be changed. A new schedule holds from now on. `status: " +
        "active` resumes a paused trigger without firing what it missed. A key that resumes it " +
        "or changes its message becomes the key of its runs.",
      ...scoped,
      feature: "triggers",
      params: IdParams,
      body: TriggerPatch,
      replies: shown,
      refusals: ["invalid_request", "trigger_not_found", "name_taken", "agent_archived"],
    },
    async ({ params, body, caller }) => {
      const changed = await triggers.change(params.id, caller, body);
      return [200, showTrigger(changed, clock.now())];
    },
  );
  router.delete(
    ONE,
    {
      summary: "Delete a trigger",
      description: "Deletes its secret, too; runs that it started continue.",
      ...scoped,
      params: IdParams,
      replies: { 204: { description: "The trigger is deleted." } },
      refusals: ["trigger_not_found"],
    },
    async ({ params, caller: { account_id } }) => {
      await triggers.remove(params.id, account_id);
      return [204, null];
    },
  );
}

function openRotation(router: Router, triggers: Triggers, { clock }: TriggersDeps): void {
  router.post(
    `${ONE}/rotate-secret`,
    {
      summary: "Rotate a trigger's secret",
      description:
        "Creates a new secret for a trigger of kind webhook; the previous one stays valid for a " +
        "while, older ones never do. Its runs then act for the key that is shown the secret.",
      ...scoped,
      feature: "triggers",
      params: IdParams,
      body: RotateSecret,
      replies: {
        200: { description: "The trigger with its new secret.", schema: TriggerWithSecret },
      },
      refusals: ["invalid_request", "trigger_not_found", "triggers_unavailable"],
    },
    async ({ params, body, caller }) => {
      const rotated = await triggers.rotate(params.id, caller, readOverlap(body));
      return [200, showWithSecret(rotated, clock.now())];
    },
  );
}

function openFireList(router: Router, triggers: Triggers): void {
  router.get(
    FIRES,
    {
      summary: "List a trigger's fires",
      description: "Each fire with its outcome; kept for 30 days or longer.",
      ...scoped,
      params: IdParams,
      query: FiresQuery,
      replies: { 200: { description: "A page of fires, newest first.", schema: FirePage } },
      refusals: ["trigger_not_found"],
    },
    async ({ params, query, caller: { account_id } }) => {
      const { id: trigger_id } = await triggers.require(params.id, account_id);
      const { outcome = null, limit, before } = query;
      const page = await readPage({
        name: `fires ${trigger_id} ${outcome}`,
        limit,
        before,
        read: (part) => triggers.listFires({ trigger_id, outcome, ...part }),
        show: (row) => show(Fire, row),
      });
      return [200, page];
    },
  );
}

/** agents.does.trigger */
function openManualFire(
  router: Router,
  triggers: Triggers,
  fire: FireTrigger,
  { disk }: TriggersDeps,
): void {
  router.post(
    FIRES,
    {
      summary: "Fire a trigger now",
      description:
        "Starts a run of kind `manual` that acts for the trigger's key; the schedule is " +
        "unchanged. Neither that key nor the calling key may decide its approvals.",
      ...scoped,
      feature: "triggers",
      params: IdParams,
      replies: {
        202: {
          description: "The fire: `started`, or `skipped` because of an earlier run.",
          schema: FiredByHand,
        },
      },
      refusals: [
        "trigger_not_found",
        "trigger_paused",
        "agent_held",
        "thread_busy",
        "active_runs_limit",
        "daily_runs_limit",
        "no_model_available",
        "thread_not_found",
        "thread_agent_mismatch",
        "storage_limit_reached",
      ],
      refusal_sentences: {
        trigger_paused:
          "The trigger is paused, or this fire paused it because its key has ended or agent or " +
          "model refuse it.",
      },
    },
    async ({ params, caller: { account_id, key_id } }) => {
      const trigger = await triggers.require(params.id, account_id);
      // agents.errors.trigger_paused
      if (resolveStatus(trigger).status === "paused") throw apiError("trigger_paused");
      disk.require();
      const fired = await fire({ trigger, source: "manual", fired_by_key_id: key_id });
      if (!("fire" in fired)) {
        throw apiError(fired.kind === "gone" ? "trigger_not_found" : "trigger_paused");
      }
      const error = fireError(fired.fire, fired.kind === "fired" ? fired.retry_after : null);
      if (error) throw error;
      return [202, { fire: show(Fire, fired.fire) }];
    },
  );
}

function fireError({ outcome, error }: FireRow, retry_after: string | null): ApiError | null {
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
