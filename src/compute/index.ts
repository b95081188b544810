// Compute: tasks on callers' texts, and the Workers that run them.
export {
  type Compute,
  type Computed,
  ComputePool,
  type ComputeService,
  type ComputeTurn,
  type Uncomputed,
} from "./pool.ts";
export { type ComputeTask, implementTask, serveComputations } from "./worker.ts";
