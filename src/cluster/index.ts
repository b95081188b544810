// Processes on the same data: which of them live, what they claim, and the watchdog of this one.
export { type Claimant, Process } from "./process.ts";
export { Reclaimer } from "./reclaim.ts";
export { processStore } from "./store.ts";
export {
  type Activity,
  type Note,
  readNote,
  UNWATCHED,
  Watchdog,
  type WatchdogOptions,
} from "./watchdog.ts";
