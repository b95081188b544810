// Claims suspects one at a time: runs whose process died repeatedly before they made progress.
import type { AgentsDeps } from "../deps.ts";
import type { RunRow } from "./run.ts";
import type { RunStore } from "./run-log.ts";

export interface SuspectsOptions {
  deps: Pick<AgentsDeps, "database" | "log" | "process">;
  store: Pick<RunStore, "hasSuspect" | "claimSuspect">;
  /** Executes it, also where no slot is free: at most one run more than the limit. */
  begin(row: RunRow): void;
  isDraining(): boolean;
  /** A claim has ended, whatever came of it. */
  onClaimed(): void;
}

export function createSuspects(options: SuspectsOptions) {
  const { deps, store, begin, isDraining, onClaimed } = options;
  const { database, log, process } = deps;
  /** The suspect claimed last. */
  let current: string | null = null;
  let isClaiming = false;

  const claim = async () => {
    if (!(await store.hasSuspect())) return;
    const row = await store.claimSuspect(process.epoch);
    if (!row) return;
    current = row.id;
    begin(row);
  };
  const look = () => {
    if (isClaiming || isDraining()) return;
    isClaiming = true;
    void claim()
      .catch((error) => log.error("a run could not be claimed", { error }))
      .finally(() => {
        isClaiming = false;
        onClaimed();
      });
  };
  // Its progress, or its end, admits the next.
  const leave = database.listen("run", (id) => {
    if (current !== null && id === current) look();
  });
  return { look, leave, isClaiming: () => isClaiming };
}
