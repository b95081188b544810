// Watches the event loop from a thread of its own: a process whose loop hangs is ended, and the
// next start learns in which call.

import { readTestVariable } from "../../platform/failpoint.ts";
import type { Log } from "../../platform/log.ts";
import { type CurrentCall, createMemoryWriter, MEMORY_BYTES } from "./memory.ts";
import { readNote, removeNote } from "./note.ts";
import type { WatchdogOrders } from "./thread.ts";

const BEAT_EVERY_MS = 500;
const LOOK_EVERY_MS = 500;
/** Silence after which the loop counts as hung. */
const SILENCE_MS = 15_000;

/** What the loop tells its watchdog of runs. */
export interface Activity {
  /** The call in which the process before this one hung; null: none that is known. */
  readonly hung: CurrentCall | null;
  enter(run_id: string): void;
  leave(run_id: string): void;
  /** Names the call that `work` belongs to, until `work` returns. */
  during<T>(call: CurrentCall, work: () => T): T;
}

/** Where nobody watches. */
export const UNWATCHED: Activity = {
  hung: null,
  enter() {},
  leave() {},
  during: (_call, work) => work(),
};

export interface WatchdogOptions {
  /** The thread's script. */
  script: URL;
  /** Where the note is left; null: nothing of this process outlives it. */
  file: string | null;
  log: Log;
  /** The log's lines are for people. */
  isForPeople: boolean;
}

export interface Watchdog extends Activity {
  /** Called when what takes long at a start, such as a migration, is done. */
  start(): void;
  /** The next start need not know any more what was noted for this one. */
  forget(): void;
}

/** Reads and logs what the process before left word of; nothing is watched before the start. */
export function openWatchdog({ script, file, log, isForPeople }: WatchdogOptions): Watchdog {
  const note = file === null ? null : readNote(file);
  if (note) {
    const { hung, runs } = note;
    log.warn("watchdog: the process before this one hung and was ended", {
      ...(hung && { run_id: hung.run_id, call: hung.call }),
      runs: runs.length,
    });
  }
  const memory = new SharedArrayBuffer(MEMORY_BYTES);
  const { beat, ...activity } = createMemoryWriter(memory);
  return {
    ...activity,
    hung: note?.hung ?? null,
    start() {
      const worker = new Worker(script, { smol: true });
      worker.unref();
      worker.onerror = ({ message }) => log.error("watchdog: it failed", { error: message });
      const silenceMs = Number(readTestVariable("WADI_SILENCE_MS") ?? SILENCE_MS);
      const ticks_max = Math.ceil(silenceMs / LOOK_EVERY_MS);
      const orders: WatchdogOrders = {
        ...{ memory, file, isForPeople, ticks_max },
        ...{ pid: process.pid, look_every_ms: LOOK_EVERY_MS },
      };
      worker.postMessage(orders);
      setInterval(beat, BEAT_EVERY_MS).unref();
    },
    forget() {
      if (file !== null) removeNote(file);
    },
  };
}
