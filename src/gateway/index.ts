// The gateway: what callers reach of chats, embeddings and web search, and the ledger behind them.
export { createChangesPage } from "./chat/changes-page.ts";
export type { RoundAnswer, RoundAsk, RoundFailure } from "./chat/inside.ts";
export { DIMENSIONS, MODEL } from "./embeddings/contract.ts";
export { openEmbedder } from "./embeddings/supply.ts";
export type { InsideCaller } from "./inside.ts";
export { showRequests } from "./ledger/figures.ts";
export { readUsage } from "./ledger/opening.ts";
export { createLedgerSweeps } from "./ledger/retention.ts";
export type { UsageBy, UsageSum } from "./ledger/store.ts";
export { type GatewayInside, openGateway } from "./opening.ts";
export { createRunning } from "./running.ts";
export { readWish, SEARCH_FIELDS } from "./search/request.ts";
export { openSearchEngine } from "./search/supply.ts";
export { showShared } from "./shared/figures.ts";
export type { SharedSupplyOptions } from "./shared/service.ts";
