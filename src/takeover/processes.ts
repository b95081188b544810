// Numbers of processes: whom one names here.
import { readlinkSync } from "node:fs";

export interface Processes {
  /** Name of the namespace in which a number names one process; null where it is unknown. */
  readonly namespace: string | null;
  kill(pid: number): void;
}

export function openProcesses(proc = "/proc"): Processes {
  return {
    namespace: readOr(null, () => readlinkSync(`${proc}/self/ns/pid`)),
    kill(pid) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // The process has ended already.
      }
    },
  };
}

function readOr<T>(fallback: T, read: () => T): T {
  try {
    return read();
  } catch {
    return fallback;
  }
}
