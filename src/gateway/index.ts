// The gateway: chats, embeddings, web search and their request log.
export { createLimitReader } from "./budgets/limit-reader.ts";
export { createBudgetSweeps } from "./budgets/retention.ts";
export { writeChanges } from "./chat/deprecation.ts";
export type { ReplyWatch } from "./chat/execution.ts";
export { Halves, TEXT } from "./chat/halves.ts";
export type {
  InternalChatError,
  InternalChatRequest,
  InternalCompletion,
} from "./chat/internal-client.ts";
export { createModelCheck, type ModelCheck } from "./chat/model-check.ts";
export { ChatChunk, ChatReply, type PartialReply } from "./chat/reply.ts";
export { openEmbedder } from "./embeddings/backend.ts";
export { DIMENSIONS, MODEL } from "./embeddings/contract.ts";
export { InFlight } from "./in-flight.ts";
export type { MeteredBackendOptions, MeteredStatus } from "./metered/service.ts";
export { listServiceReplicas, showShared } from "./metered/service.ts";
export { createGateway, type Gateway, type GatewayInternal } from "./module.ts";
export { LogEntry } from "./request-log/entry.ts";
export { explainEntry } from "./request-log/explanation.ts";
export { showRequests } from "./request-log/metrics.ts";
export { RequestLogReader } from "./request-log/reader.ts";
export type { InternalCaller } from "./request-log/recorder.ts";
export { createRequestLogSweeps } from "./request-log/request-log.ts";
export type { RequestFilter, RequestTimes } from "./request-log/store/index.ts";
export { addSum, type GroupSum, type UsageFilter } from "./request-log/store/usage-sums.ts";
export { type Usage, type UsageGrouping, UsageReader } from "./request-log/usage.ts";
export { openSearchEngine } from "./search/backend.ts";
export { readSearchInput, SEARCH_FIELDS } from "./search/schema.ts";
