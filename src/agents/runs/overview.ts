// Lists and counts runs of every account for operators, range by range.
import type { Bound } from "../../database/index.ts";
import { yieldToEventLoop } from "../../platform/clock.ts";
import type { runStore } from "./store/index.ts";
import type { OverviewRow, RunSearch } from "./store/overview.ts";
import { FINAL, type Status } from "./transitions.ts";

export type { OverviewRow, RunSearch } from "./store/overview.ts";

type OverviewStore = Pick<
  Bound<typeof runStore>,
  "listActive" | "listEnded" | "findRangeEnd" | "countActive" | "countEnded"
>;

/** Runs of one read: each of them is looked at. */
const RANGE_SIZE = 2_000;
/** Ranges that are counted at most. */
const COUNTED_RANGES_MAX = 50;

/** `active`: runs that have not ended. */
export const STAGES = ["active", "ended"] as const;

export interface RunPage extends RunSearch {
  /** Both stages where it is null. */
  stage: (typeof STAGES)[number] | null;
  /** The last run of the page before. */
  before: string | null;
  limit: number;
}

export interface RunCounts {
  counts: Partial<Record<Status, number>>;
  /** Older runs were not looked at. */
  isPartial: boolean;
}

export function createRunOverview(store: OverviewStore) {
  return {
    /** The newest first. */
    async list(page: RunPage): Promise<OverviewRow[]> {
      const { before, limit, stage, status } = page;
      const isFinal = status === null ? null : FINAL.has(status);
      const found: OverviewRow[] = [];
      if (stage !== "ended" && isFinal !== true) {
        found.push(...(await store.listActive(page, before, limit)));
      }
      if (stage !== "active" && isFinal !== false) found.push(...(await listEnded(store, page)));
      return found.sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, limit);
    },
    /** Counts runs that have not ended, and those accepted since that moment that have. */
    async count(search: RunSearch): Promise<RunCounts> {
      const counts: RunCounts["counts"] = {};
      const add = (rows: readonly { status: string; runs: number }[]) => {
        for (const { status, runs } of rows) {
          counts[status as Status] = (counts[status as Status] ?? 0) + runs;
        }
      };
      add(await store.countActive({ ...search, since: null }));
      let before: string | null = null;
      for (let ranges = 0; ranges < COUNTED_RANGES_MAX; ranges++) {
        const range: { before: string | null; size: number } = { before, size: RANGE_SIZE };
        const end = await store.findRangeEnd(search, range);
        add(await store.countEnded(search, range));
        if (!end || end.created_at < (search.since ?? 0)) return { counts, isPartial: false };
        before = end.id;
        await yieldToEventLoop();
      }
      return { counts, isPartial: true };
    },
  };
}

async function listEnded(store: OverviewStore, page: RunPage): Promise<OverviewRow[]> {
  const found: OverviewRow[] = [];
  let { before } = page;
  for (;;) {
    const range = { before, size: RANGE_SIZE };
    const end = await store.findRangeEnd(page, range);
    found.push(...(await store.listEnded(page, range, page.limit - found.length)));
    const isOver = !end || end.created_at < (page.since ?? 0);
    if (isOver || found.length === page.limit) return found;
    before = end.id;
    await yieldToEventLoop();
  }
}

/** Milliseconds of a run from its acceptance to its end, or until now. */
export interface RunSpans {
  queued: number;
  worked: number;
  /** For people and, after a crash, for a process. */
  waited: number;
}

type MeasuredRun = Pick<
  OverviewRow,
  "status" | "created_at" | "started_at" | "finished_at" | "worked_ms" | "stepped_at"
>;

/** A shorter rest is that of a claim and of writes, unless the run waits for a person. */
const WAITED_MS_MIN = 1_000;

/** Work since the last step is not stored: until a running run waits, all of it is work. */
export function measureRun(run: MeasuredRun, now: number): RunSpans {
  const { created_at, started_at, stepped_at, worked_ms } = run;
  const until = Math.max(run.finished_at ?? now, created_at);
  if (started_at === null) return { queued: until - created_at, worked: 0, waited: 0 };
  const isRunning = run.status === "running";
  const measuredAt = isRunning ? (stepped_at ?? started_at) : until;
  const rest = measuredAt - started_at - worked_ms;
  const isWaiting = run.status === "waiting_approval" || rest >= WAITED_MS_MIN;
  const waited = isWaiting ? Math.max(0, rest) : 0;
  return {
    queued: started_at - created_at,
    worked: Math.max(0, until - started_at - waited),
    waited,
  };
}

const BEGIN = /^\{"message":"((?:[^"\\]|\\u[0-9a-f]{4}|\\[^u])*)/;
const TITLE_CHARACTERS_MAX = 120;

/** Only a run that is asked about images may have no text. */
const IMAGE_TITLE = "(image)";

/** Reads the first line of the message from the begin of a stored input. */
export function readTitle(input_begin: string): string {
  const text = BEGIN.exec(input_begin)?.[1] ?? "";
  if (text === "") return IMAGE_TITLE;
  const [line] = (JSON.parse(`"${text}"`) as string).split("\n", 1);
  return line!.slice(0, TITLE_CHARACTERS_MAX).toWellFormed();
}
