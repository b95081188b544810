// The entrance hall: what houses need to open routes.
export { parseBody } from "./body.ts";
export { writeErrorFrame } from "./envelope.ts";
export { createHealthPages, type ServiceHealth } from "./health.ts";
export { IdParams, readUuid, Uuid } from "./identifier.ts";
export { watchIdle } from "./idle-timeout.ts";
export { Instant, requireInstant } from "./instant.ts";
export { createMetricsPage } from "./metrics-page.ts";
export { createDocumentPage } from "./openapi/document.ts";
export type { DocumentedEvent } from "./openapi/events.ts";
export {
  BEFORE,
  cursorError,
  decodeCursor,
  decodePosition,
  encodeCursor,
  encodePosition,
  NEXT_BEFORE,
} from "./paging.ts";
export { observeRequests } from "./request-metrics.ts";
export type { MeteredRequest, RecorderFactory, RequestRecorder } from "./request-recorder.ts";
export type { HandlerContext, HandlerReply } from "./route.ts";
export type { Router } from "./router.ts";
export { createRouters } from "./routers.ts";
export { createHttpServer, type HttpServer, type StaticPage } from "./server.ts";
export { type EventStream, openEventStream, writeFrame } from "./sse.ts";
export {
  answerList,
  ITEMS_AT_ONCE,
  type ListParts,
  streamList,
  streamNumbered,
} from "./streamed-list.ts";
export { named, unquoted } from "./validation.ts";
export {
  openWebhookListener,
  type ReceivedBody,
  type WebhookListener,
} from "./webhook-listener.ts";
