// The third entry point of the binary: a Worker that watches the event loop.
import { serveWatchdog } from "./platform/watchdog/index.ts";

serveWatchdog();
