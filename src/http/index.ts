// The entrance hall: what houses need to open routes.
export { createDoor, type Door, type Reply } from "./door.ts";
export { createEntrance, type Entrance, type Page } from "./entrance.ts";
export { writeErrorFrame } from "./envelope.ts";
export { createHealthPages } from "./health.ts";
export type { Arrival, Meter, Tally } from "./meter.ts";
export { createMetricsPage } from "./metrics-page.ts";
export { createDocumentPage } from "./openapi.ts";
export { observeRequests } from "./request-figures.ts";
export { type EventStream, openEventStream } from "./sse.ts";
