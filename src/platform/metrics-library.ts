// The parts of prom-client that are used; the executable holds them packed. The package's index
// also loads clusters, push gateways and event-loop monitors.
export { default as Counter } from "prom-client/lib/counter.js";
export { default as Gauge } from "prom-client/lib/gauge.js";
export { default as Histogram } from "prom-client/lib/histogram.js";
export { default as Registry } from "prom-client/lib/registry.js";
