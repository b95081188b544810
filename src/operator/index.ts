// What the people who run the system may do; the command line stands on it, and later the console.
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
export { loadRecording, needsGrant, type OpenSupply, type Turn } from "../models/index.ts";
export { Fire } from "../triggers/index.ts";
export { DELIVERY_STATUSES, Delivery } from "../webhooks/index.ts";
export { ListedAccount } from "./accounts.ts";
export { ListedAgent } from "./agents.ts";
export { ApprovalSetting, ListedApproval } from "./approvals.ts";
export { type CheckRow, checkInstallation } from "./checking.ts";
export { ListedConnection } from "./connections.ts";
export type { KeyWish } from "./keys.ts";
export { type Arrival, openListener } from "./listener.ts";
export { ListedModel } from "./models.ts";
export { openOperator } from "./opening.ts";
export { buildOperator, type Operator } from "./operator.ts";
export { type ProbeResult, probeModel } from "./probing.ts";
export { OperatorProblem } from "./problem.ts";
export { ListedRun } from "./runs.ts";
export { addEmbeddings, addModel, createSettingsFile } from "./settings-file.ts";
export { listStandIns } from "./stand-ins.ts";
export { listSweeps } from "./sweeps.ts";
export { ListedTool } from "./tools.ts";
export { ListedTrigger, OwnedTrigger } from "./triggers.ts";
export type { UsageBy } from "./usage.ts";
