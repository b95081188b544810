// Upkeep of an installation: rotate the secrets key, delete old rows.
import { type Static, Type } from "@sinclair/typebox";
import { createRunSweeps } from "../agents/index.ts";
import type { RotationResult } from "../crypto/index.ts";
import type { Database } from "../database/index.ts";
import { maybe } from "../platform/schema.ts";
import { isDoubtful, type Sweep, sweepStore } from "../retention/index.ts";
import type { Settings } from "../settings/index.ts";
import { createFireSweeps } from "../triggers/index.ts";
import { createDeliverySweeps } from "../webhooks/index.ts";
import { createAccountSweeps } from "./account-deletion.ts";
import { createApprovalLinkSweeps } from "./approval-links.ts";
import { createAuditSweeps } from "./audit.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError } from "./errors.ts";
import { awaitKeys } from "./processes.ts";
import { createSessionSweeps } from "./sessions.ts";

export function createSecretAdmin({ secrets, database, clock }: AdminDeps) {
  return {
    /** Makes a new key; `givesUp` deletes secrets that no key at hand opens. */
    async rotate(givesUp: boolean) {
      const outcome = await secrets.rotate({
        givesUp,
        awaitKeys: (ids) => awaitKeys({ database, clock }, ids),
      });
      if (!outcome.ok) throw new AdminError(explainRotation(outcome));
      const { ok: _, ...rotated } = outcome;
      return rotated;
    },
  };
}

function explainRotation(outcome: Extract<RotationResult, { ok: false }>): string {
  switch (outcome.reason) {
    case "no file":
      return "this installation has no key file: its secrets last as long as the program runs";
    case "busy":
      return "another rotation is under way on the same key file";
    case "unavailable":
      return (
        `the secrets key ${outcome.fault ?? "is another than that of the stored secrets"}: put ` +
        "its file back, or, where it is lost, delete with --give-up what only it opens"
      );
    case "not everywhere":
      return (
        `these processes have not both keys yet: ${outcome.processes.join(", ")}: copy ` +
        `${outcome.file} to their machines, which holds the new one and the old one, and rotate ` +
        "again: nothing is sealed under the new one before"
      );
    case "unreadable": {
      const { left, places } = outcome;
      const names = places.map(({ kind, row_id }) => `${kind} ${row_id}`).join(", ");
      const others = left > places.length ? ` and ${left - places.length} others` : "";
      return (
        `these cannot be opened: ${names}${others}; all else is under the new key, and the file ` +
        "keeps the old one too: set them anew, or delete their secrets with --give-up, and then " +
        "rotate again"
      );
    }
  }
}

export interface SweepOptions {
  database: Database;
  /** Read at each sweep, since a reload may change it. */
  settings(): Pick<Settings, "retention">;
}

/** Loaded only when it is needed, and once: each import walks over all that it has loaded. */
let gateway: Promise<typeof import("../gateway/index.ts")> | undefined;

export async function listSweeps(options: SweepOptions): Promise<Sweep[]> {
  gateway ??= import("../gateway/index.ts");
  const { createBudgetSweeps, createRequestLogSweeps } = await gateway;
  return [
    ...createRunSweeps(options),
    ...createRequestLogSweeps(options),
    ...createBudgetSweeps(options),
    ...createFireSweeps(options),
    ...createDeliverySweeps(options),
    ...createAuditSweeps(options),
    ...createSessionSweeps(options),
    ...createApprovalLinkSweeps(options),
    ...createAccountSweeps(options),
  ];
}

export const SweepStatus = Type.Object({
  now: Type.String({ format: "date-time", description: "Time by the server's clock." }),
  last_sweep_at: maybe(Type.String({ format: "date-time", description: "Null: never." })),
  is_clock_doubtful: Type.Boolean({
    description: "The clock is over 7 days ahead of the last trusted sweep.",
  }),
});
export type SweepStatus = Static<typeof SweepStatus>;

export function createSweepAdmin({ database, clock, settings }: AdminDeps) {
  const store = database.bind(sweepStore);
  return {
    async readStatus(): Promise<SweepStatus> {
      const row = await store.find();
      const now = clock.now();
      return {
        now: new Date(now).toISOString(),
        last_sweep_at: row.swept_at === null ? null : new Date(row.swept_at).toISOString(),
        is_clock_doubtful: isDoubtful(row, now),
      };
    },
    /** Sweeps by the clock now; a server trusts that clock from then on. */
    async sweep(): Promise<{ what: string; rows: number }[]> {
      const now = clock.now();
      const swept = [];
      for (const { what, run } of await listSweeps({ database, settings: () => settings })) {
        swept.push({ what, rows: await run(now, () => false) });
      }
      await store.note(now);
      return swept;
    },
  };
}
