// What breaks off runs that are executed: a cancel, or the end of the key that they act for.
import type { Cancel } from "../../platform/clock.ts";
import type { AgentsDeps } from "../deps.ts";
import type { RunRow } from "./run.ts";
import type { InterruptReason } from "./run-context.ts";

/** agents.authentication.1: a key that ended is noticed so soon, also in the middle of a round. */
const KEYS_LOOKED_AT_EVERY_MS = 5_000;

/** A run that is executed here. */
export interface ActiveRun {
  row: RunRow;
  /** Its reason is a `Break`. */
  controller: AbortController;
}

export function interrupt({ controller }: ActiveRun, why: InterruptReason): void {
  controller.abort(why);
}

export interface CancellationOptions {
  deps: Pick<AgentsDeps, "database" | "access" | "clock" | "log">;
  executing: ReadonlyMap<string, ActiveRun>;
  /** The runs of this process that were asked to stop. */
  listCancelled(): Promise<string[]>;
  /** A run that is not executed here, or not yet. */
  onOther(run_id: string): void;
}

/** Watches until the returned function is called. */
export function watchCancellations(options: CancellationOptions): () => void {
  const { deps, executing, listCancelled, onOther } = options;
  const { database, access, clock, log } = deps;
  const complain = (error: unknown) => log.error("runs could not be looked at", { error });

  const hearCancel = async (run_id: string | null) => {
    for (const id of run_id === null ? await listCancelled() : [run_id]) {
      const run = executing.get(id);
      if (run) interrupt(run, "cancel");
      else onOther(id);
    }
  };
  /** null: any key may have ended. */
  const lookAtKeys = async (key_id: string | null) => {
    const keys = new Map<string, ActiveRun[]>();
    for (const run of executing.values()) {
      const key = run.row.started_by_key_id ?? "";
      if (key_id !== null && key !== key_id) continue;
      const runs = keys.get(key);
      if (runs) runs.push(run);
      else keys.set(key, [run]);
    }
    for (const [key, runs] of keys) {
      if (await access.findCaller(key)) continue;
      for (const run of runs) interrupt(run, "key");
    }
  };
  let cancelLook: Cancel;
  const planLook = () => {
    cancelLook = clock.after(KEYS_LOOKED_AT_EVERY_MS, () => {
      planLook();
      lookAtKeys(null).catch(complain);
    });
  };
  planLook();
  const leave = [
    database.listen("run.cancel", (id) => void hearCancel(id).catch(complain)),
    database.listen("key", (id) => void lookAtKeys(id).catch(complain)),
  ];
  return () => {
    cancelLook();
    for (const step of leave) step();
  };
}
