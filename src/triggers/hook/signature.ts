// Verifies signed requests at the same cost whatever is wrong with them.
import { type SecretPairs, type SecretStore, verifyMessage } from "../../crypto/index.ts";
import type { Bound } from "../../database/index.ts";
import { readUuid } from "../../http/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { apiError } from "../../platform/errors.ts";
import { NO_ID } from "../../platform/ids.ts";
import type { triggerStore } from "../store/index.ts";

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
  secrets: Pick<SecretStore, "require">;
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
    if (!opened.ok && opened.why === "unavailable") await secrets.require("trigger");
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
