// An entry point of the binary: a Worker that watches the event loop.
import { serveWatchdog } from "./cluster/watchdog.ts";

serveWatchdog();
