// Runs that failed lately, and the commonest code of their errors.
import { type Static, Type } from "@sinclair/typebox";
import { createRunQueries } from "../agents/index.ts";
import { maybe, Timestamp } from "../platform/schema.ts";
import { type AccountDirectory, walkAccounts } from "./accounts.ts";
import type { AdminDeps } from "./deps.ts";

/** Failures of an account that are looked at; a page needs no more to say that many fail. */
const FAILURES_MAX = 1_000;

export const RunFailures = Type.Object({
  since: Timestamp("Earliest end that counts."),
  runs: Type.Integer({
    description: `Runs that failed since then, at most ${FAILURES_MAX} of an account.`,
  }),
  code: maybe(Type.String({ description: "Commonest error code; null: none failed." })),
  code_runs: Type.Integer({ description: "Runs that failed with it." }),
  first_at: maybe(Timestamp("First of these failures; null: none.")),
  last_at: maybe(Timestamp("Last of these failures; null: none.")),
});
export type RunFailures = Static<typeof RunFailures>;

export function createFailureCounts(deps: AdminDeps, directory: AccountDirectory) {
  const runs = createRunQueries(deps);
  return async (since: number): Promise<RunFailures> => {
    const endsOf = new Map<string, number[]>();
    for await (const { id } of walkAccounts(await directory.select(null))) {
      for (const { error, finished_at } of await runs.listFailures(id, since, FAILURES_MAX)) {
        const code = error?.code ?? "";
        const ends = endsOf.get(code) ?? [];
        ends.push(finished_at);
        endsOf.set(code, ends);
      }
    }
    const [commonest] = [...endsOf].sort(([, a], [, b]) => b.length - a.length);
    const [code, ends] = commonest ?? [null, []];
    return {
      since,
      runs: endsOf.values().reduce((sum, { length }) => sum + length, 0),
      code,
      code_runs: ends.length,
      first_at: ends.length === 0 ? null : Math.min(...ends),
      last_at: ends.length === 0 ? null : Math.max(...ends),
    };
  };
}
