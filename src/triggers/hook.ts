// Signed requests that fire a trigger: the route, the verification and the answer.
import { Type } from "@sinclair/typebox";
import { RateLimiter } from "../access/index.ts";
import {
  createSecretPairs,
  type SecretPairs,
  type Secrets,
  verifyMessage,
} from "../crypto/index.ts";
import type { Bound } from "../database/index.ts";
import { type HandlerReply, parseBody, type Router, readUuid } from "../http/index.ts";
import type { Clock } from "../platform/clock.ts";
import { ApiError, apiError } from "../platform/errors.ts";
import { NO_ID } from "../platform/ids.ts";
import type { TriggersDeps } from "./deps.ts";
import { FireReceipt, type FireRow } from "./fire.ts";
import type { FireTrigger } from "./fire-run.ts";
import { usesUp } from "./store/fire.ts";
import { triggerStore } from "./store/index.ts";
import { resolveStatus } from "./view.ts";

type HookDeps = Pick<TriggersDeps, "database" | "clock" | "disk" | "secrets" | "settings">;

/** agents.endpoints.triggers.p4 agents.limits.body_size */
const BODY_BYTES_MAX = 64 * 1024;
const WINDOW_MS = 60_000;
/** Retry-After of held triggers; only the operator ends a hold. */
const HELD_RETRY_S = "60";
/** Retry-After of limits that do not name a time, such as a busy thread. */
const LIMITED_RETRY_S = "10";

const HookParams = Type.Object({
  trigger_id: Type.String({ description: "The id of a trigger of kind webhook." }),
});

const HOOK = {
  summary: "Fire a trigger",
  description:
    "Starts a run that reads the body beside the trigger's message. Instead of an API key, the " +
    "request is signed with the trigger's secret as in Standard Webhooks.",
  feature: "triggers",
  params: HookParams,
  request_headers: ["webhook-id", "webhook-timestamp", "webhook-signature"],
  body: Type.Unknown({ description: "Any JSON value; the run reads it as outside text." }),
  bodyBytesMax: BODY_BYTES_MAX,
  replies: {
    200: {
      description: "This `webhook-id` has fired before; nothing is started.",
      schema: FireReceipt,
    },
    202: { description: "The trigger has fired.", schema: FireReceipt },
  },
  refusals: [
    "triggers_unavailable",
    "unsupported_media_type",
    "invalid_signature",
    "trigger_paused",
    "agent_held",
    "rate_limited",
    "invalid_request",
    "hook_failed",
  ],
  refusal_sentences: {
    invalid_request: "The body is not JSON.",
    rate_limited: "Too many requests for this trigger, or a limit on its runs is reached.",
  },
  refusal_headers: { 503: ["retry-after"] },
} as const;

/** agents.endpoints.triggers.p3 */
export function openHook(router: Router, fire: FireTrigger, deps: HookDeps): RateLimiter {
  const { database, clock, secrets } = deps;
  const triggers = database.bind(triggerStore);
  const pairs = createSecretPairs(secrets);
  const verify = createHookVerifier({ triggers, pairs, secrets, clock });
  const rule = { requests_max: readMax(deps), windowMs: WINDOW_MS, closingMs: 0 };
  const limiter = new RateLimiter(clock, rule);
  const handle = createHookHandler(triggers, fire, limiter, deps);
  // agents.errors.triggers_unavailable
  const requireAble = () => secrets.require("trigger");
  router.signed(
    "/v1/hooks/:trigger_id",
    { ...HOOK, requireAble },
    async ({ params: { trigger_id }, headers, body }) =>
      handle(await verify({ trigger_id, headers, body }), body),
  );
  return limiter;
}

function createHookHandler(
  triggers: Pick<Bound<typeof triggerStore>, "findHook" | "findRequested">,
  fire: FireTrigger,
  limiter: RateLimiter,
  { disk, settings }: HookDeps,
) {
  return async (
    { trigger_id, webhook_id }: VerifiedHook,
    body: Uint8Array,
  ): Promise<HandlerReply> => {
    const before = await triggers.findRequested(trigger_id, webhook_id);
    // agents.endpoints.triggers.p6
    if (before && usesUp(before.outcome)) return [200, writeReceipt(before)];
    const trigger = await triggers.findHook(trigger_id);
    // A trigger deleted just now is as unknown as any other.
    if (!trigger) throw apiError("invalid_signature");
    // agents.errors.trigger_paused
    if (resolveStatus(trigger).status === "paused") throw apiError("trigger_paused");
    // A hold precedes the errors below; a valid request is still recorded as a fire.
    const held = trigger.is_held ? heldError() : null;
    limiter.change(readMax({ settings }));
    const waitMs = await limiter.claim(trigger_id);
    if (waitMs > 0) throw held ?? limitError(String(Math.ceil(waitMs / 1_000)));
    const parsed = parseBody(body);
    // agents.errors.invalid_request
    if ("fault" in parsed) throw held ?? apiError("invalid_request", { message: parsed.fault });
    if (!held) disk.require();
    const fired = await fire({ trigger, source: "webhook", webhook_id, hook: parsed.value });
    // The same request arrived twice at once.
    if (fired.kind === "known") return [200, writeReceipt(fired.fire)];
    if (fired.kind !== "fired") {
      throw apiError(fired.kind === "gone" ? "invalid_signature" : "trigger_paused");
    }
    requireStarted(fired.fire, fired.retry_after);
    // agents.endpoints.triggers.p5
    return [202, writeReceipt(fired.fire)];
  };
}

function writeReceipt({ id, outcome, run_id }: FireRow) {
  return { fire: { id, outcome, run_id } };
}

/** The fire is recorded; the sender may repeat its request. */
function requireStarted({ outcome, error }: FireRow, retry_after: string | null): void {
  switch (outcome) {
    case "held":
      throw heldError();
    case "refused":
      // agents.states.p12: a refused fire pauses the trigger.
      throw apiError("trigger_paused");
    case "limited":
      throw limitError(retry_after ?? LIMITED_RETRY_S, error?.message);
    case "failed":
      throw new ApiError("hook_failed", {}, new Error(`no run could be started: ${error?.code}`));
  }
}

/** agents.errors.agent_held: with its second status, so that the sender repeats the request. */
function heldError(): ApiError {
  return apiError("agent_held", { isUnavailable: true, headers: { "retry-after": HELD_RETRY_S } });
}

/** agents.errors.rate_limited */
function limitError(retry_after: string, message?: string): ApiError {
  return apiError("rate_limited", { message, headers: { "retry-after": retry_after } });
}

/** Maximum signed requests of a trigger in a minute. */
function readMax({ settings }: Pick<TriggersDeps, "settings">): number {
  return settings().limits.hook_requests_per_minute;
}

/** agents.authentication.webhook_id, agents.limits.hook_webhook_id */
const WEBHOOK_ID = /^[ -~]{1,128}$/;
const SECONDS = /^[0-9]{1,15}$/;
/** agents.limits.hook_timestamp_tolerance */
const TOLERANCE_S = 300;

export interface SignedHook {
  /** Unchecked text of the path. */
  trigger_id: string;
  headers: Headers;
  body: Uint8Array;
}

export interface VerifiedHook {
  trigger_id: string;
  webhook_id: string;
}

export interface HookSignatureOptions {
  triggers: Pick<Bound<typeof triggerStore>, "findSigner">;
  pairs: Pick<SecretPairs, "openAlike">;
  secrets: Pick<Secrets, "require">;
  clock: Clock;
}

/**
 * agents.errors.invalid_signature agents.authentication.p3: one error for everything. An unknown
 * trigger is looked up, unsealed and verified like any other, so that timing reveals nothing.
 */
export function createHookVerifier({ triggers, pairs, secrets, clock }: HookSignatureOptions) {
  return async ({ trigger_id, headers, body }: SignedHook): Promise<VerifiedHook> => {
    const now = clock.now();
    const id = readUuid(trigger_id) ?? NO_ID;
    const account_id = await triggers.findSigner(id);
    const about = { kind: "trigger", row_id: id, account_id: account_id ?? NO_ID } as const;
    const opened = await pairs.openAlike(about, now);
    // Without the secrets' key, no signature can be verified.
    if (!opened.ok && opened.reason === "unavailable") await secrets.require("trigger");
    const webhook_id = headers.get("webhook-id") ?? "";
    const timestamp = headers.get("webhook-timestamp") ?? "";
    const signature = headers.get("webhook-signature") ?? "";
    const known = opened.ok ? opened.secrets : [];
    const isSigned = verifyMessage(known, { id: webhook_id, timestamp, signature }, body);
    const isNamed = WEBHOOK_ID.test(webhook_id);
    const isTimely = SECONDS.test(timestamp) && isNear(Number(timestamp), now);
    if (!isSigned || !isNamed || !isTimely) throw apiError("invalid_signature");
    return { trigger_id: id, webhook_id };
  };
}

/** agents.authentication.webhook_timestamp: compares whole seconds. */
function isNear(timestampS: number, now: number): boolean {
  return Math.abs(timestampS - Math.floor(now / 1_000)) <= TOLERANCE_S;
}
