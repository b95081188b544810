// The routes of triggers: made, listed, read, changed, deleted, and given another secret.

import { RotateSecret, readOverlap } from "../crypto/index.ts";
import { answerList, IdParams, type ListParts, type Router } from "../http/index.ts";
import { apiError } from "../platform/errors.ts";
import type { TriggersDeps } from "./deps.ts";
import { NewTrigger, TriggerPatch } from "./input.ts";
import type { TriggerFilter } from "./store/lists.ts";
import { Trigger } from "./trigger.ts";
import type { MadeTrigger, Triggers } from "./triggers.ts";
import { showTrigger, TriggerList, TriggerWithSecret } from "./view.ts";

const PATH = "/v1/triggers";
const ONE = `${PATH}/:id` as const;
/** So many are read and shown at once: what one asks may take 400 KB, its next fires 250 µs. */
const TRIGGERS_AT_ONCE = 20;
const shown = { 200: { description: "Without its secret.", schema: Trigger } };
/** agents.authentication.3: a key without `agents` is always refused here. */
const scoped = { scope: "agents", isScopeCertain: true } as const;

/** agents.endpoints.triggers.p1 */
export function openTriggerRoutes(door: Router, triggers: Triggers, deps: TriggersDeps): void {
  openCreation(door, triggers, deps);
  openReads(door, triggers, deps);
  openChanges(door, triggers, deps);
  openRotation(door, triggers, deps);
}

function showMade({ trigger, secret }: MadeTrigger, now: number) {
  const fields = showTrigger(trigger, now);
  return secret === null ? fields : { ...fields, secret };
}

/** agents.does.trigger, agents.resources.trigger */
function openCreation(
  door: Router,
  triggers: Triggers,
  { disk, settings, clock }: TriggersDeps,
): void {
  door.post(
    PATH,
    {
      summary: "Create a trigger",
      description:
        "It starts the agent's runs by itself, on a schedule or on signed requests. They act for " +
        "the key that creates it: what that key may not do, they may not either.",
      ...scoped,
      feature: "triggers",
      body: NewTrigger,
      replies: { 201: { description: "With its secret.", schema: TriggerWithSecret } },
      refusals: [
        ...(["invalid_request", "agent_not_found", "agent_archived", "thread_not_found"] as const),
        ...(["thread_agent_mismatch", "name_taken", "triggers_limit"] as const),
        "triggers_unavailable",
      ],
    },
    async ({ body, caller: { account_id, key_id } }) => {
      // agents.errors.permission_denied: nobody would own the trigger.
      if (account_id === null) throw apiError("permission_denied");
      disk.require();
      const { triggers: triggers_max } = settings().limits;
      const made = await triggers.create({ account_id, key_id }, body, triggers_max);
      return [201, showMade(made, clock.now())];
    },
  );
}

function openReads(door: Router, triggers: Triggers, { clock, log }: TriggersDeps): void {
  async function* tell(account_id: string): ListParts {
    let before: TriggerFilter["before"] = null;
    for (;;) {
      const rows = await triggers.list({ account_id, before, limit: TRIGGERS_AT_ONCE });
      yield rows.map((row) => showTrigger(row, clock.now()));
      if (rows.length < TRIGGERS_AT_ONCE) return {};
      const { created_at: at, id } = rows.at(-1)!;
      before = { at, id };
    }
  }
  door.get(
    PATH,
    {
      summary: "List triggers",
      ...scoped,
      replies: { 200: { description: "Every trigger, newest first.", schema: TriggerList } },
      refusals: [],
    },
    ({ caller: { account_id }, request, request_id }) =>
      account_id === null
        ? [200, { data: [] }]
        : answerList(tell(account_id), { request, request_id, log }),
  );
  door.get(
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

function openChanges(door: Router, triggers: Triggers, { clock }: TriggersDeps): void {
  door.patch(
    ONE,
    {
      summary: "Change a trigger",
      description:
        "Its kind, its agent and its thread stay. Another schedule holds from now on. `status: " +
        "active` resumes a paused trigger; what it missed while it was paused is not fired. Who " +
        "resumes it, or changes what its runs are asked, has them act for its own key.",
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
  door.delete(
    ONE,
    {
      summary: "Delete a trigger",
      description: "Its secret goes with it; runs that it has started go on.",
      ...scoped,
      params: IdParams,
      replies: { 204: { description: "It is gone." } },
      refusals: ["trigger_not_found"],
    },
    async ({ params, caller: { account_id } }) => {
      await triggers.remove(params.id, account_id);
      return [204, null];
    },
  );
}

function openRotation(door: Router, triggers: Triggers, { clock }: TriggersDeps): void {
  door.post(
    `${ONE}/rotate-secret`,
    {
      summary: "Rotate a trigger's secret",
      description:
        "Of kind webhook: a new secret, beside which the one before holds for a while. A third " +
        "never does. Its runs act for the key that is shown it.",
      ...scoped,
      feature: "triggers",
      params: IdParams,
      body: RotateSecret,
      replies: { 200: { description: "With its new secret.", schema: TriggerWithSecret } },
      refusals: ["invalid_request", "trigger_not_found", "triggers_unavailable"],
    },
    async ({ params, body, caller }) => {
      const rotated = await triggers.rotate(params.id, caller, readOverlap(body));
      return [200, showMade(rotated, clock.now())];
    },
  );
}
