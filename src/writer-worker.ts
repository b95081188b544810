// An entry point of the binary: a Worker that serves the writes of every store.
import { serveWrites } from "./database/index.ts";
import { stores } from "./stores.ts";

serveWrites(stores);
