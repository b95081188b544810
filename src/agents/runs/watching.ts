// What breaks off runs that are executed: a cancel, or the end of the key that they act for.
import type { Cancel } from "../../platform/clock.ts";
import type { Around } from "../around.ts";
import type { RunRow } from "./run.ts";
import type { Break } from "./work.ts";

/** agents.authentication.1: a key that ended is noticed so soon, also in the middle of a round. */
const KEYS_LOOKED_AT_EVERY_MS = 5_000;

/** A run that is executed here. */
export interface Executing {
  row: RunRow;
  /** Its reason is a `Break`. */
  controller: AbortController;
}

export function breakOff({ controller }: Executing, why: Break): void {
  controller.abort(why);
}

export interface WatchingOptions {
  around: Pick<Around, "database" | "access" | "clock" | "log">;
  executing: ReadonlyMap<string, Executing>;
  /** The runs of this process that were asked to stop. */
  listCancelled(): Promise<string[]>;
  /** A run that is not executed here, or not yet. */
  onOther(run_id: string): void;
}

/** Watches until the returned function is called. */
export function watchRuns(options: WatchingOptions): () => void {
  const { around, executing, listCancelled, onOther } = options;
  const { database, access, clock, log } = around;
  const complain = (error: unknown) => log.error("runs could not be looked at", { error });

  const hearCancel = async (run_id: string | null) => {
    for (const id of run_id === null ? await listCancelled() : [run_id]) {
      const run = executing.get(id);
      if (run) breakOff(run, "cancel");
      else onOther(id);
    }
  };
  /** null: any key may have ended. */
  const lookAtKeys = async (key_id: string | null) => {
    const keys = new Map<string, Executing[]>();
    for (const run of executing.values()) {
      const key = run.row.started_by_key_id ?? "";
      if (key_id !== null && key !== key_id) continue;
      const runs = keys.get(key);
      if (runs) runs.push(run);
      else keys.set(key, [run]);
    }
    for (const [key, runs] of keys) {
      if (await access.findCaller(key)) continue;
      for (const run of runs) breakOff(run, "key");
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
