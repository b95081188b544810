// The agent service: agents with versions, threads, runs, approvals and tools.
export {
  ANSWER_BEGIN,
  ANSWER_CHARACTERS_MAX,
  Approval,
  type ApprovalRow,
  type ApprovalStatus,
  REASON_CHARACTERS_MAX,
  STATUSES as APPROVAL_STATUSES,
} from "./approvals/approval.ts";
export type { Decision } from "./approvals/decision.ts";
export { type ApprovalQueries, createApprovalQueries } from "./approvals/queries.ts";
export { SentMetadata, validateMetadata } from "./definitions/agent.ts";
export { NewAgent } from "./definitions/input.ts";
export { createOperatorDefinitions } from "./definitions/operator-definitions.ts";
export { createPolicyPreview, PreviewedTool } from "./definitions/policy-preview.ts";
export { type AgentQueries, createAgentQueries } from "./definitions/queries.ts";
export { Version, type VersionRow } from "./definitions/version.ts";
export { Evaluation, ListedEvaluation } from "./evaluations/evaluation.ts";
export { type StartEvaluation, startFields } from "./evaluations/evaluations.ts";
export { createOperatorEvaluations } from "./evaluations/operator-evaluations.ts";
export { type AgentsModule, createAgents } from "./module.ts";
export { createRunSweeps } from "./retention.ts";
export { RunComparison } from "./runs/compare.ts";
export type { LiveSnapshot } from "./runs/events/frames.ts";
export { TYPES_SENTENCE as IMAGE_TYPES, writeData as writeImage } from "./runs/images.ts";
export { createOperatorStarts } from "./runs/operator-starts.ts";
export {
  measureRun,
  type OverviewRow,
  type RunPage,
  type RunSearch,
  readTitle,
  STAGES,
} from "./runs/overview.ts";
export { createRunQueries, type RunQueries } from "./runs/queries.ts";
export { MESSAGE_CHARACTERS_MAX, SentImages } from "./runs/question.ts";
export { RerunRun } from "./runs/rerun.ts";
export { RoundContext, RunRound } from "./runs/round.ts";
export { createRoundReader } from "./runs/round-reader.ts";
export { RERUN_TOOLS, Run, RunRow, TRIGGER_KINDS, type TriggerKind } from "./runs/run.ts";
export type { RunRequest, RunStarter } from "./runs/start.ts";
export { Step, type StepRow } from "./runs/step.ts";
export { RunMark } from "./runs/store/marks.ts";
export { FINAL, STATUSES, type Status } from "./runs/transitions.ts";
export {
  CONNECTION_KINDS,
  type ConnectionKind,
  WholeConnection,
} from "./tools/connections/connection.ts";
export { createConnections } from "./tools/connections/connections.ts";
export { RISKS, type Risk } from "./tools/contract.ts";
export { McpServer, McpTool } from "./tools/mcp/server.ts";
export { createToolQueries } from "./tools/queries.ts";
export { ToolRevision } from "./tools/revision.ts";
