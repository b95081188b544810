// Ends a process whose event loop hangs, and tells the next start in which call it was.
export { serveWatchdog } from "./thread.ts";
export { type Activity, openWatchdog, UNWATCHED, type WatchdogOptions } from "./watchdog.ts";
