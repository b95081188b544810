// The route to which others send signed requests that fire a trigger.
import { Type } from "@sinclair/typebox";
import { createSecretPairs } from "../../crypto/index.ts";
import type { Router } from "../../http/index.ts";
import type { TriggersDeps } from "../deps.ts";
import { FireReceipt } from "../fire.ts";
import type { FireTrigger } from "../fire-run.ts";
import { triggerStore } from "../store/index.ts";
import { createHookHandler } from "./handler.ts";
import { createHookVerifier } from "./signature.ts";

type HookAround = Pick<TriggersDeps, "database" | "clock" | "disk" | "secrets" | "settings">;

/** agents.endpoints.triggers.p4 agents.limits.body_size */
const BODY_BYTES_MAX = 64 * 1024;

const HookParams = Type.Object({
  trigger_id: Type.String({ description: "The id of a trigger of kind webhook." }),
});

const HOOK = {
  summary: "Fire a trigger",
  description:
    "Starts the run of a trigger, which reads the body beside its message. Needs no API key: it " +
    "is signed with the trigger's secret as Standard Webhooks has it, over the bytes of the body.",
  feature: "triggers",
  params: HookParams,
  request_headers: ["webhook-id", "webhook-timestamp", "webhook-signature"],
  body: Type.Unknown({ description: "Any JSON value; the run reads it as text from outside." }),
  body_bytes_max: BODY_BYTES_MAX,
  replies: {
    200: {
      description: "This `webhook-id` has had its fire, and nothing more was started.",
      schema: FireReceipt,
    },
    202: { description: "It has fired.", schema: FireReceipt },
  },
  refusals: [
    ...(["triggers_unavailable", "unsupported_media_type", "invalid_signature"] as const),
    ...(["trigger_paused", "agent_held", "rate_limited", "invalid_request"] as const),
    "hook_failed",
  ],
  refusal_sentences: {
    invalid_request: "The body is not JSON.",
    rate_limited: "Too many requests for this trigger, or its runs are at a limit.",
  },
  refusal_headers: { 503: ["retry-after"] },
} as const;

/** agents.endpoints.triggers.p3 */
export function openHook(door: Router, fire: FireTrigger, deps: HookAround): void {
  const { database, clock, disk, secrets, settings } = deps;
  const triggers = database.bind(triggerStore);
  const pairs = createSecretPairs(secrets);
  const verify = createHookVerifier({ triggers, pairs, secrets, clock });
  const receive = createHookHandler({ triggers, fire, clock, disk, settings });
  // agents.errors.triggers_unavailable
  const requireAble = () => secrets.require("trigger");
  door.signed(
    "/v1/hooks/:trigger_id",
    { ...HOOK, requireAble },
    async ({ params: { trigger_id }, headers, body }) =>
      receive(await verify({ trigger_id, headers, body }), body),
  );
}
