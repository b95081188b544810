// The gateway: what callers reach of chats, embeddings and web search, and the ledger behind them.
export { writeChanges } from "./chat/changes-page.ts";
export type {
  InternalChatError,
  InternalChatRequest,
  InternalCompletion,
} from "./chat/internal-client.ts";
export { openEmbedder } from "./embeddings/backend.ts";
export { DIMENSIONS, MODEL } from "./embeddings/contract.ts";
export { InFlight } from "./in-flight.ts";
export type { MeteredBackendOptions } from "./metered/service.ts";
export { showShared } from "./metered/service.ts";
export { createGateway, type GatewayInternal } from "./module.ts";
export { showRequests } from "./request-log/metrics.ts";
export type { InternalCaller } from "./request-log/recorder.ts";
export { createRequestLogSweeps, createUsageReader } from "./request-log/request-log.ts";
export type { GatewayUsage, UsageGrouping } from "./request-log/store.ts";
export { openSearchEngine } from "./search/backend.ts";
export { readWish, SEARCH_FIELDS } from "./search/schema.ts";
