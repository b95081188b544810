// Processes on the same data: which of them live, what they claim, and the watchdog of this one.
export { type Claimant, Process } from "./process.ts";
export { Reclaimer } from "./reclaim.ts";
export {
  type Activity,
  UNWATCHED,
  Watchdog,
  type WatchdogOptions,
} from "./watchdog.ts";
