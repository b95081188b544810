// Compute: tasks on callers' texts, and the Workers that run them.
export {
  type Compute,
  type Computed,
  type ComputeOptions,
  ComputePool,
  type ComputeService,
  type Uncomputed,
} from "./pool.ts";
export { type ComputeTask, implementTask, serveComputations } from "./worker.ts";
