// The watchdog's thread: counts its own ticks while the event loop does not beat, so that a machine
// that was suspended is no alarm.
import { createSystemClock } from "../../platform/clock.ts";
import { canWriteLine } from "../../platform/libc.ts";
import { createLog } from "../../platform/log.ts";
import { STDERR, writeText } from "../../platform/process.ts";
import { createMemoryReader } from "./memory.ts";
import { type Note, writeNote } from "./note.ts";

/** What the thread is started with. */
export interface WatchdogOrders {
  memory: SharedArrayBuffer;
  file: string | null;
  isForPeople: boolean;
  pid: number;
  look_every_ms: number;
  /** Ticks without a beat after which the process is ended. */
  ticks_max: number;
}

/** Called by the thread's entry point. */
export function serveWatchdog(): void {
  const port = globalThis as unknown as { onmessage: (event: { data: WatchdogOrders }) => void };
  port.onmessage = ({ data }) => watch(data);
}

function watch(orders: WatchdogOrders): void {
  const reader = createMemoryReader(orders.memory);
  let seen = reader.countBeats();
  let ticks = 0;
  setInterval(() => {
    const beats = reader.countBeats();
    ticks = beats === seen ? ticks + 1 : 0;
    seen = beats;
    if (ticks < orders.ticks_max) return;
    try {
      report(orders, reader);
    } finally {
      process.kill(orders.pid, "SIGKILL");
    }
  }, orders.look_every_ms);
}

function report(orders: WatchdogOrders, reader: ReturnType<typeof createMemoryReader>): void {
  const clock = createSystemClock();
  const hung = reader.readCall();
  const at = new Date(clock.now()).toISOString();
  const note: Note = { at, hung, runs: reader.listRuns() };
  if (orders.file !== null) writeNote(orders.file, note);
  // Whoever reads the log may read no more, and would hold up the thread as well.
  if (!canWriteLine(STDERR)) return;
  const log = createLog(clock, (line) => writeText(STDERR, line), orders.isForPeople);
  log.error("watchdog: the event loop hangs; the process is ended", {
    ...(hung && { run_id: hung.run_id, call: hung.call }),
    runs: note.runs.length,
    duration_ms: orders.ticks_max * orders.look_every_ms,
  });
}
