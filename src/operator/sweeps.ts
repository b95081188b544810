// Deleting old rows, as a server does by itself and an operator by hand.
import { createRunSweeps } from "../agents/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database/index.ts";
import type { Settings } from "../platform/settings/index.ts";
import { isDoubtful } from "../platform/sweeps/decision.ts";
import { sweepStore } from "../platform/sweeps/store.ts";
import type { Sweep } from "../platform/sweeps/sweep.ts";
import { createFireSweeps } from "../triggers/index.ts";
import { createDeliverySweeps } from "../webhooks/index.ts";

export interface SweepOptions {
  database: Database;
  /** The settings in force: asked for at each sweep, since a reload may change them. */
  settings(): Pick<Settings, "retention">;
}

/** Every kind of row that grows old. */
export async function listSweeps(options: SweepOptions): Promise<Sweep[]> {
  // The gateway brings a whole server along, which other verbs do not need.
  const { createLedgerSweeps } = await import("../gateway/index.ts");
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
  /** null: never. */
  last_sweep_at: string | null;
  /** true: the clock is over 7 days ahead of what was written last. */
  is_clock_doubtful: boolean;
}

const writeTime = (at: number | null) => (at === null ? null : new Date(at).toISOString());

export function createSweepVerbs(options: SweepOptions & { clock: Clock }) {
  const { database, clock } = options;
  const store = database.bind(sweepStore);
  return {
    async look(): Promise<SweepStanding> {
      const row = await store.find();
      const now = clock.now();
      return {
        now: new Date(now).toISOString(),
        last_sweep_at: writeTime(row.swept_at),
        is_clock_doubtful: isDoubtful(row, now),
      };
    },
    /** Sweeps by the clock as it is now, which a server then believes, too. */
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
