// The entrance hall: what houses need to open routes.
export { parseBody } from "./body.ts";
export type { DocumentedEvent } from "./document-events.ts";
export type { Door } from "./door.ts";
export { createDoors } from "./doors.ts";
export { createEntrance, type Entrance, type Page } from "./entrance.ts";
export { writeErrorFrame } from "./envelope.ts";
export { type Beside, createHealthPages } from "./health.ts";
export { IdParams, readUuid, Uuid } from "./identifier.ts";
export { Instant, requireInstant } from "./instant.ts";
export {
  answerInParts,
  answerList,
  answerNumbered,
  ITEMS_AT_ONCE,
  type Parts,
} from "./long-list.ts";
export type { Arrival, Meter, Tally } from "./meter.ts";
export { createMetricsPage } from "./metrics-page.ts";
export { createDocumentPage } from "./openapi.ts";
export {
  BEFORE,
  NEXT_BEFORE,
  readCursor,
  readPlace,
  refuseCursor,
  writeCursor,
  writePlace,
} from "./paging.ts";
export { type Letter, openReceiver, type Receiver } from "./receiver.ts";
export { observeRequests } from "./request-figures.ts";
export type { Ask, Reply } from "./route.ts";
export { watchSilence } from "./silence.ts";
export { type EventStream, openEventStream, writeFrame } from "./sse.ts";
export { named, shorten, unquoted } from "./validation.ts";
