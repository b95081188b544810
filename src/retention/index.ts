// Deletes rows that are older than the settings keep them.
export { sweepStore } from "./store.ts";
export { type IsStopping, isDoubtful, type Sweep, Sweeper, sweepRows } from "./sweeper.ts";
