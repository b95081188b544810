// What an execution writes of its run: progress, steps and messages, and the state behind them.

import type { Bound } from "../../platform/database/index.ts";
import type { Around } from "../around.ts";
import type { NewMessage } from "../threads/thread.ts";
import type { FinalStatus, Run } from "./run.ts";
import { applyStep, hear, type RunState } from "./state.ts";
import type { NewStep, SystemData } from "./step.ts";
import { countEndingIds } from "./store/closing.ts";
import type { runStore } from "./store/index.ts";
import type { Progress, Record } from "./store/record.ts";
import type { Request } from "./store/waiting.ts";

/** What one transaction adds; `progress` is where the run stands behind it. */
export interface Addition {
  progress: Progress;
  steps?: readonly NewStep[];
  messages?: readonly NewMessage[];
  outputs?: Record["outputs"];
  summary?: Record["summary"];
}

/** How a run ends. */
export interface End {
  status: FinalStatus;
  error: Run["error"];
}

export type RunStore = Bound<typeof runStore>;

/** The process has lost the run: another has it, and this one must do nothing more for it. */
export class Lost extends Error {}

export function createJournal(
  { clock, ids }: Pick<Around, "clock" | "ids">,
  store: RunStore,
  state: RunState,
) {
  const epoch = state.row.epoch;
  const worked_before_ms = state.row.worked_ms;
  const begun_at = clock.monotonic();
  const countWorked = () => Math.round(worked_before_ms + clock.monotonic() - begun_at);

  const write = (given: Addition): Record => ({
    run_id: state.row.id,
    epoch,
    at: clock.now(),
    progress: { ...given.progress, worked_ms: countWorked() },
    steps: given.steps ?? [],
    messages: given.messages ?? [],
    outputs: given.outputs ?? [],
    summary: given.summary ?? null,
  });
  /** What was written is what the run is from now on. */
  const follow = (written: Record, recorded: Awaited<ReturnType<RunStore["note"]>>) => {
    if (!recorded) throw new Lost();
    state.row = { ...state.row, ...written.progress, ...recorded };
    for (const step of written.steps) applyStep(state, step as never);
    for (const message of written.messages) hear(state, message);
  };
  return {
    countWorked,
    async plan(given: Addition, requests: readonly Request[]): Promise<void> {
      const written = write(given);
      follow(written, await store.plan(written, requests));
    },
    async settle(given: Addition): Promise<void> {
      const written = write(given);
      follow(written, await store.settle(written));
    },
    async note(given: Addition): Promise<void> {
      const written = write(given);
      follow(written, await store.note(written));
    },
    async finish(given: Addition, { status, error }: End): Promise<void> {
      const fresh = Array.from(
        { length: countEndingIds(given.progress.pending_approvals.length) },
        ids.uuid,
      );
      const [event_id, ...others] = fresh;
      const ending = { status, error, event_id: event_id!, fresh: others };
      if (!(await store.finish(write(given), ending))) throw new Lost();
    },
    async wait(): Promise<void> {
      const isWaiting = await store.wait(state.row.id, epoch, countWorked());
      if (!isWaiting) throw new Lost();
    },
    release: () => store.release(epoch, state.row.id, countWorked()),
    /** A step about the run itself. */
    tell(event: SystemData["event"], message: string, detail?: unknown): NewStep {
      const data = detail === undefined ? { event, message } : { event, message, detail };
      return { id: ids.uuid(), kind: "system", round: state.row.usage.rounds, data };
    },
  };
}
export type Journal = ReturnType<typeof createJournal>;
