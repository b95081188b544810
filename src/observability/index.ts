// The view of the server from outside: metrics and traces.
export { openObservability } from "./observability.ts";
