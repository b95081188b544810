// Processes on the same data: which of them live, what they claim, and the watchdog of this one.
export { Membership } from "./membership.ts";
export { type Claimant, Process } from "./process.ts";
export { Reclaimer } from "./reclaim.ts";
export { PROCESSES, processStore } from "./store.ts";
export {
  type Activity,
  type Note,
  readNote,
  UNWATCHED,
  Watchdog,
  type WatchdogOptions,
} from "./watchdog.ts";
