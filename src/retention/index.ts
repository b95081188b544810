// Deletes rows that are older than the settings keep them.
export { isDoubtful } from "./decision.ts";
export { sweepStore } from "./store.ts";
export { type Sweep, sweepRows } from "./sweep.ts";
export { createSweeper } from "./sweeper.ts";
