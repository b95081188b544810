// The gateway: what callers of the standard chat-completions format reach.
export { createChangesPage } from "./chat/changes-page.ts";
export { createRunning } from "./chat/running.ts";
export { showRequests } from "./ledger/figures.ts";
export { readUsage } from "./ledger/opening.ts";
export type { UsageBy, UsageSum } from "./ledger/store.ts";
export { openGateway } from "./opening.ts";
