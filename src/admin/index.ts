// Use cases of an operator, which the command line and the console call.
export { PERIODS, ROLES } from "../access/index.ts";
export {
  ANSWER_CHARACTERS_MAX,
  APPROVAL_STATUSES,
  type Evaluation,
  FINAL as FINAL_STATUSES,
  IMAGE_TYPES,
  type LiveSnapshot,
  REASON_CHARACTERS_MAX,
  RISKS,
  STATUSES,
  TRIGGER_KINDS,
  writeImage,
} from "../agents/index.ts";
export {
  loadRecorder,
  loadReplay,
  type ModelState,
  type ModelSwitch,
  needsGrant,
  type OpenBackend,
} from "../models/index.ts";
export { DELIVERY_STATUSES, type WebhookEventType } from "../webhooks/index.ts";
export { type Admin, buildAdmin, openAdmin } from "./admin.ts";
export type { ApprovalContext } from "./approval-context.ts";
export { checkInstallation } from "./check.ts";
export { AdminError } from "./errors.ts";
export { DEV } from "./first-keys.ts";
/** Loaded only when used. */
export const loadGrafanaFiles = () => import("./grafana/files.ts");
export { listHints } from "./hints.ts";
export type { CheckRow, Crash, Installation } from "./installation.ts";
export { type MembershipParts, openMembership } from "./membership.ts";
export { type ListedModel, listStandIns } from "./models.ts";
export {
  nameLocalActor,
  type Operation,
  type PerformOperation,
  perform,
} from "./operation.ts";
export { accountOperations } from "./operations/accounts.ts";
export { agentOperations } from "./operations/agents.ts";
export { approvalLinkOperations } from "./operations/approval-links.ts";
export { approvalOperations } from "./operations/approvals.ts";
export { connectionOperations } from "./operations/connections.ts";
export { evaluationOperations } from "./operations/evaluations.ts";
export { keyOperations, type NewKeyInput } from "./operations/keys.ts";
export type { LimitFields } from "./operations/limits.ts";
export { modelOperations } from "./operations/models.ts";
export { operatorOperations } from "./operations/operators.ts";
export { playgroundOperations } from "./operations/playground.ts";
export { processOperations } from "./operations/processes.ts";
export { requestOperations } from "./operations/requests.ts";
export { runCountOperations } from "./operations/run-counts.ts";
export { runOperations } from "./operations/runs.ts";
export { searchOperations } from "./operations/search.ts";
export { sessionOperations } from "./operations/sessions.ts";
export { toolOperations } from "./operations/tools.ts";
export { triggerOperations } from "./operations/triggers.ts";
export { upkeepOperations } from "./operations/upkeep.ts";
export { webhookOperations } from "./operations/webhooks.ts";
export { createOperatorService, type OperatorService } from "./operator-service.ts";
export type { Resumption } from "./pause.ts";
export { type ProbeResult, probeModel } from "./probe.ts";
export type { ListedProcess } from "./processes.ts";
/** Loaded only when used. */
export const loadServiceTexts = () => import("./service-texts/texts.ts");
export { addEmbeddings, addModel, createSettingsFile } from "./settings-file.ts";
export type { InstallationStatus } from "./status.ts";
export type { OwnedTrigger } from "./triggers.ts";
export { listSweeps } from "./upkeep.ts";
export { USAGE_FIELDS, USAGE_SUMS } from "./usage.ts";
export { openWebhookReceiver, type ReceivedWebhook } from "./webhook-receiver.ts";
