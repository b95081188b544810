// Which processes are alive, who claims what, and what becomes of the work of dead ones.
export { type Claimant, createProcess, type Process } from "./process.ts";
export { Reclaimer } from "./reclaim.ts";
export {
  type Activity,
  openWatchdog,
  serveWatchdog,
  UNWATCHED,
  type WatchdogOptions,
} from "./watchdog/index.ts";
