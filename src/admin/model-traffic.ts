// Recent traffic of models and their servers: first tokens, and tokens a second.
import { type Static, Type } from "@sinclair/typebox";
import { RequestLogReader, type RequestTimes } from "../gateway/index.ts";
import { maybe } from "../platform/schema.ts";
import type { AdminDeps } from "./deps.ts";

export const WINDOW_MS = 15 * 60_000;
const SPEED_MS = 60_000;
/** Requests that are looked at, the newest of the window. */
export const REQUESTS_MAX = 5_000;

const count = (description: string) => Type.Integer({ description });

export const ModelTraffic = Type.Object({
  model: Type.String({ description: "Id of the model." }),
  replica: maybe(Type.String({ description: "Host and port of a server; null: all of them." })),
  requests: count(
    `Requests that ended in the last 15 minutes, among the newest ${REQUESTS_MAX} of all models.`,
  ),
  first_token_p50_ms: maybe(
    count("Milliseconds from sending to the first token, of half of the streams; null: none."),
  ),
  first_token_p95_ms: maybe(count("The same, of 95 of 100 streams; null: none.")),
  tokens_per_second: Type.Number({
    description: "Tokens written in the last minute, by the second; a reply counts at its end.",
  }),
});
export type ModelTraffic = Static<typeof ModelTraffic>;

export function createTrafficReader({ database, clock }: AdminDeps) {
  const reader = new RequestLogReader(database);
  return async (): Promise<ModelTraffic[]> => {
    const now = clock.now();
    const rows = await reader.listTimes(now - WINDOW_MS, REQUESTS_MAX);
    const served = rows.filter(({ model }) => model !== null);
    const byModel = Map.groupBy(served, ({ model }) => model!);
    return [...byModel].flatMap(([model, ofModel]) => {
      const byReplica = Map.groupBy(ofModel, ({ replica }) => replica);
      const replicas = [...byReplica].filter(([replica]) => replica !== null);
      return [
        summarize({ model, replica: null }, ofModel, now),
        ...replicas.map(([replica, ofReplica]) => summarize({ model, replica }, ofReplica, now)),
      ];
    });
  };
}

function summarize(
  name: Pick<ModelTraffic, "model" | "replica">,
  rows: readonly RequestTimes[],
  now: number,
): ModelTraffic {
  const first = rows
    .flatMap(({ first_token_ms: ms, waited_ms }) => (ms === null ? [] : [ms - (waited_ms ?? 0)]))
    .sort((a, b) => a - b);
  const recent = rows.filter(({ ended_at }) => ended_at >= now - SPEED_MS);
  const tokens = recent.reduce((sum, { completion_tokens }) => sum + (completion_tokens ?? 0), 0);
  return {
    ...name,
    requests: rows.length,
    first_token_p50_ms: findRank(first, 0.5),
    first_token_p95_ms: findRank(first, 0.95),
    tokens_per_second: Math.round(tokens / (SPEED_MS / 10_000)) / 10,
  };
}

/** The smallest value that is not below this share of the sorted ones. */
export function findRank(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
}
