// Compute: tasks on callers' texts, and the Workers that carry them out.
export {
  type Compute,
  type Computed,
  type ComputeService,
  type ComputeTurn,
  createComputePool,
  type Uncomputed,
} from "./pool.ts";
export { type ComputeTask, implementTask } from "./task.ts";
export { serveComputations } from "./worker.ts";
