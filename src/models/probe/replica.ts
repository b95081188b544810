// Checks whether one replica of a model would serve: its list, health, token count, one token.

import type { TrustedEgress } from "../../net/index.ts";
import { abortAfter, type Clock } from "../../platform/clock.ts";
import type { Ids } from "../../platform/ids.ts";
import type { ModelSettings } from "../../settings/index.ts";
import { isGood } from "../providers/body.ts";
import { createOpenaiProvider } from "../providers/openai/provider.ts";
import { rootOf } from "../providers/openai/request.ts";
import { createTokenCount } from "../providers/token-count.ts";
import { nameHealth } from "../replicas/health.ts";
import { createProbeClient, createProbeRequest } from "./client.ts";
import { readModels } from "./server-kind.ts";

/** Maximum time of its own routes. */
const QUESTIONS_MS = 10_000;
/** Maximum time of one token; callers would not wait for a model to be loaded either. */
const TOKEN_MS = 20_000;

export interface ReplicaCheckOptions {
  upstream: Extract<ModelSettings["upstream"], { kind: "openai" }>;
  url: string;
  egress: TrustedEgress;
  clock: Clock;
  ids: Ids;
}

/** Values are null where a replica has no such route or does not report it. */
export interface ReplicaCheck {
  /** Time of one token; null without one, for the reason of `reason`. */
  answered_ms: number | null;
  reason: string | null;
  is_listed: boolean | null;
  is_healthy: boolean | null;
  counts_tokens: boolean;
  /** Lead of its clock over ours. */
  aheadMs: number | null;
}

/** Sends the key and headers of the settings, as the gateway does. */
export async function checkReplica(options: ReplicaCheckOptions): Promise<ReplicaCheck> {
  const { upstream, url, clock, egress, ids } = options;
  const client = createProbeClient({ ...upstream, egress, clock, totalMs: QUESTIONS_MS });
  const request = createProbeRequest(ids.uuid());
  try {
    const token = testToken(options);
    const list = await client.get(`${url}/models`);
    const aheadMs = list.date === null ? null : list.date - clock.now();
    const health =
      list.status === null ? list : await client.get(rootOf(url) + nameHealth(upstream));
    const names = readModels(list).map(({ id }) => id);
    const count = createTokenCount({ ...upstream, urls: [url], egress, clock });
    const isThere = list.status !== null;
    const counts_tokens = isThere && (await count(request, client.signal)) !== null;
    const { answered_ms, reason } = await token;
    return {
      answered_ms,
      reason,
      is_listed: names.length === 0 ? null : names.includes(upstream.model),
      is_healthy: readHealth(health.status),
      counts_tokens,
      aheadMs,
    };
  } finally {
    client.end();
  }
}

async function testToken({ upstream, url, egress, clock, ids }: ReplicaCheckOptions) {
  const limit = abortAfter(clock, TOKEN_MS);
  const complete = createOpenaiProvider({ ...upstream, url, egress, clock, ids });
  const began = clock.monotonic();
  try {
    const completion = await complete(
      createProbeRequest(ids.uuid()),
      () => undefined,
      limit.signal,
    );
    if (completion.ok) return { answered_ms: Math.round(clock.monotonic() - began), reason: null };
    const late = `it answered no token in ${TOKEN_MS / 1_000} s`;
    return { answered_ms: null, reason: limit.signal.aborted ? late : completion.reason };
  } finally {
    limit.cancel();
  }
}

/** Like the gateway: a server without that route, or with a closed one, is not unhealthy. */
function readHealth(status: number | null): boolean | null {
  if (isGood(status)) return true;
  return status === null || status < 500 ? null : false;
}
