// HTTP: servers, routers and what modules need to open routes.
export { parseBody } from "./body.ts";
export { type ApiDialect, idHeaders, writeDialectError } from "./dialects.ts";
export { writeErrorFrame } from "./envelope.ts";
export { IdParams, Instant, readUuid, requireInstant, Uuid } from "./fields.ts";
export { createHealthPages } from "./health.ts";
export {
  createLinkRoutes,
  type LinkCaller,
  type LinkRouteOptions,
  type OpenedLink,
} from "./link-routes.ts";
export { createMetricsPage, observeRequests } from "./metrics.ts";
export type { DocumentedEvent } from "./openapi/document.ts";
export { createDocumentPage } from "./openapi/document.ts";
export { writeOperatorDocument } from "./openapi/operator-document.ts";
export type { OperatorRouteSpec } from "./operator-route.ts";
export { createOperatorRoutes, type OperatorRoute } from "./operator-router.ts";
export type { OperatorStreamSpec, StreamCaller } from "./operator-stream.ts";
export { isLocalName } from "./origins.ts";
export { type OwnAddresses, requireOwnClient, requireOwnHost } from "./own-origin.ts";
export {
  cursorError,
  decodeCursor,
  decodePosition,
  encodeCursor,
  encodePosition,
  NEXT_BEFORE,
  PAGE_LIMIT,
  PageQuery,
  readPage,
} from "./paging.ts";
export { type RequestObserver, toApiError } from "./response.ts";
export { waitForClients } from "./retirement.ts";
export type {
  HandlerContext,
  HandlerReply,
  MeteredRequest,
  RecorderFactory,
  RequestRecorder,
  RunSource,
} from "./route.ts";
export type { Router } from "./router.ts";
export { createRouters, type Routers } from "./routers.ts";
export { createSendAs, type SendAs } from "./sent-as.ts";
export { HttpServer, type StaticPage } from "./server.ts";
export { createSessionRoutes, type SessionClient } from "./session-routes.ts";
export {
  type EventStream,
  openEventStream,
  watchIdle,
  writeFrame,
  writeNamedFrame,
} from "./sse.ts";
export {
  answerList,
  ITEMS_AT_ONCE,
  type ListParts,
  listPage,
  streamList,
  streamNumbered,
} from "./streamed-list.ts";
export { findFieldError, named } from "./validation.ts";
export {
  openWebhookListener,
  type ReceivedBody,
  type WebhookListener,
} from "./webhook-listener.ts";
