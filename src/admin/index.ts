// Use cases of an operator, which the command line and the console call.
export { Account, Hold, Key } from "../access/index.ts";
export {
  APPROVAL_STATUSES,
  Approval,
  type Decision,
  REASON_CHARACTERS_MAX,
  Run,
  STATUSES,
  Step,
} from "../agents/index.ts";
export {
  loadRecorder,
  loadReplay,
  type ModelState,
  type ModelSwitch,
  needsGrant,
  type OpenBackend,
} from "../models/index.ts";
export { Fire } from "../triggers/index.ts";
export { DELIVERY_STATUSES, Delivery } from "../webhooks/index.ts";
export { ListedAccount } from "./accounts.ts";
export { type Admin, buildAdmin, openAdmin } from "./admin.ts";
export { ListedAgent } from "./agents.ts";
export { type ApprovalSetting, ListedApproval } from "./approvals.ts";
export { checkInstallation } from "./check.ts";
export { ListedConnection } from "./connections.ts";
export { AdminError } from "./errors.ts";
export type { KeyRequest } from "./keys.ts";
export { openListener, type ReceivedWebhook } from "./listener.ts";
export { listStandIns } from "./models.ts";
export { type ProbeResult, probeModel } from "./probe.ts";
export { ListedRun } from "./runs.ts";
export type { CheckRow } from "./service-checks.ts";
export { addEmbeddings, addModel, createSettingsFile } from "./settings-file.ts";
export { ListedTool } from "./tools.ts";
export { ListedTrigger, OwnedTrigger } from "./triggers.ts";
export { listSweeps } from "./upkeep.ts";
export type { UsageBy } from "./usage.ts";
