// The agent service: agents with versions, threads, runs and what they did.
export {
  Approval,
  type ApprovalStatus,
  REASON_CHARACTERS_MAX,
  STATUSES as APPROVAL_STATUSES,
} from "./approvals/approval.ts";
export { type ApprovalBook, createApprovalBook } from "./approvals/book.ts";
export type { Decision } from "./approvals/decision-table.ts";
export { type AgentBook, createAgentBook } from "./definitions/book.ts";
export { showRuns } from "./figures.ts";
export { openAgents } from "./opening.ts";
export { createRunSweeps } from "./retention.ts";
export { createRunBook, type RunBook } from "./runs/book.ts";
export { Run } from "./runs/run.ts";
export type { RunWish, Starting } from "./runs/starting.ts";
export { FINAL, STATUSES, type Status } from "./runs/states.ts";
export { Step } from "./runs/step.ts";
export { createToolBook, type ToolBook } from "./tools/book.ts";
export {
  CONNECTION_KINDS,
  Connection,
  type ConnectionKind,
} from "./tools/connections/connection.ts";
export { type Connections, createConnections } from "./tools/connections/connections.ts";
export { ToolRevision } from "./tools/tool.ts";
