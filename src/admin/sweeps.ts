// Deletes old rows, as a server does by itself.
import { createRunSweeps } from "../agents/index.ts";
import type { Database } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import { isDoubtful, type Sweep, sweepStore } from "../retention/index.ts";
import type { Settings } from "../settings/index.ts";
import { createFireSweeps } from "../triggers/index.ts";
import { createDeliverySweeps } from "../webhooks/index.ts";

export interface SweepOptions {
  database: Database;
  /** Read at each sweep: a reload may change them. */
  settings(): Pick<Settings, "retention">;
}

/** Every kind of row that grows old. */
export async function listSweeps(options: SweepOptions): Promise<Sweep[]> {
  // The gateway brings a whole server along, which other verbs do not need.
  const { createRequestLogSweeps: createLedgerSweeps } = await import("../gateway/index.ts");
  return [
    ...createRunSweeps(options),
    ...createLedgerSweeps(options),
    ...createFireSweeps(options),
    ...createDeliverySweeps(options),
  ];
}

/** One line of a sweep. */
export type SweptRows = Record<"what", string> & Record<"rows", number>;

export interface SweepStanding {
  now: string;
  last_sweep_at: string | null;
  /** Whether the clock is over 7 days ahead of the last write. */
  is_clock_doubtful: boolean;
}

const writeTime = (at: number | null) => (at === null ? null : new Date(at).toISOString());

export function createSweepAdmin(options: SweepOptions & { clock: Clock }) {
  const { database, clock } = options;
  const store = database.bind(sweepStore);
  return {
    async readStatus(): Promise<SweepStanding> {
      const row = await store.find();
      const now = clock.now();
      return {
        now: new Date(now).toISOString(),
        last_sweep_at: writeTime(row.swept_at),
        is_clock_doubtful: isDoubtful(row, now),
      };
    },
    /** Sweeps by the clock now; a server trusts that clock from then on. */
    async sweep(): Promise<SweptRows[]> {
      const now = clock.now();
      const swept: SweptRows[] = [];
      for (const { what, run } of await listSweeps(options)) {
        swept.push({ what, rows: await run(now, () => false) });
      }
      await store.note(now);
      return swept;
    },
  };
}
