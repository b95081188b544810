// Looks whether one server of a model would serve: its list, its health, its count, one token.

import type { TrustedEgress } from "../../net/index.ts";
import { abortAfter, type Clock } from "../../platform/clock.ts";
import type { Ids } from "../../platform/ids.ts";
import type { ModelSettings } from "../../settings/index.ts";
import { createOpenaiProvider } from "../providers/openai/provider.ts";
import { rootOf } from "../providers/openai/request.ts";
import { createTokenCount } from "../providers/token-count.ts";
import { nameHealth } from "../replicas/health.ts";
import { createProbeClient, isGood } from "./client.ts";
import { createProbeClientFor } from "./probe.ts";
import { readModels } from "./server-kind.ts";

/** Its own routes answer at once or not at all. */
const QUESTIONS_MS = 10_000;
/** A server that has to load its model first is one that would keep callers waiting. */
const TOKEN_MS = 20_000;

export interface ReplicaCheckOptions {
  upstream: Extract<ModelSettings["upstream"], { kind: "openai" }>;
  /** One of the upstream's. */
  url: string;
  egress: TrustedEgress;
  clock: Clock;
  ids: Ids;
}

/** What was seen of it; null: it has no such route, or did not say. */
export interface ReplicaCheck {
  /** One token took so long; null: there was none, and `why` says what came. */
  answered_ms: number | null;
  why: string | null;
  /** The name that is sent to it stands in its list. */
  is_listed: boolean | null;
  is_healthy: boolean | null;
  counts_tokens: boolean;
  /** How far its clock is ahead of ours. */
  ahead_ms: number | null;
}

/** Asks as the gateway does: with the key, the headers and the words of the settings. */
export async function checkReplica(options: ReplicaCheckOptions): Promise<ReplicaCheck> {
  const { upstream, url, clock, egress, ids } = options;
  const asking = createProbeClient({ ...upstream, egress, clock, total_ms: QUESTIONS_MS });
  const trial = createProbeClientFor(ids.uuid());
  try {
    const token = askToken(options);
    const list = await asking.get(`${url}/models`);
    const ahead_ms = list.date === null ? null : list.date - clock.now();
    const health =
      list.status === null ? list : await asking.get(rootOf(url) + nameHealth(upstream));
    const names = readModels(list).map(({ id }) => id);
    const count = createTokenCount({ ...upstream, urls: [url], egress, clock });
    const isThere = list.status !== null;
    const counts_tokens = isThere && (await count(trial, asking.signal)) !== null;
    const { answered_ms, why } = await token;
    return {
      answered_ms,
      why,
      is_listed: names.length === 0 ? null : names.includes(upstream.model),
      is_healthy: judgeHealth(health.status),
      counts_tokens,
      ahead_ms,
    };
  } finally {
    asking.end();
  }
}

async function askToken({ upstream, url, egress, clock, ids }: ReplicaCheckOptions) {
  const limit = abortAfter(clock, TOKEN_MS);
  const answer = createOpenaiProvider({ ...upstream, url, egress, clock, ids });
  const began = clock.monotonic();
  try {
    const ending = await answer(createProbeClientFor(ids.uuid()), () => undefined, limit.signal);
    if (ending.ok) return { answered_ms: Math.round(clock.monotonic() - began), why: null };
    const late = `it answered no token in ${TOKEN_MS / 1_000} s`;
    return { answered_ms: null, why: limit.signal.aborted ? late : ending.reason };
  } finally {
    limit.cancel();
  }
}

/** As the gateway does: a server without that route, or with one for others, is not unwell. */
function judgeHealth(status: number | null): boolean | null {
  if (isGood(status)) return true;
  return status === null || status < 500 ? null : false;
}
