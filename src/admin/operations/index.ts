// Every operation in the order of the command line's help.
import type { AnyOperation } from "../operation.ts";
import { accountOperations } from "./accounts.ts";
import { agentOperations } from "./agents.ts";
import { approvalLinkOperations } from "./approval-links.ts";
import { approvalOperations } from "./approvals.ts";
import { connectionOperations } from "./connections.ts";
import { evaluationOperations } from "./evaluations.ts";
import { keyOperations } from "./keys.ts";
import { modelOperations } from "./models.ts";
import { operatorOperations } from "./operators.ts";
import { playgroundOperations } from "./playground.ts";
import { processOperations } from "./processes.ts";
import { requestOperations } from "./requests.ts";
import { runCountOperations } from "./run-counts.ts";
import { runOperations } from "./runs.ts";
import { searchOperations } from "./search.ts";
import { sessionOperations } from "./sessions.ts";
import { toolOperations } from "./tools.ts";
import { triggerOperations } from "./triggers.ts";
import { upkeepOperations } from "./upkeep.ts";
import { webhookOperations } from "./webhooks.ts";

const FAMILIES = [
  ...[accountOperations, keyOperations, operatorOperations, sessionOperations],
  ...[
    agentOperations,
    evaluationOperations,
    runOperations,
    approvalOperations,
    approvalLinkOperations,
  ],
  ...[toolOperations, connectionOperations],
  ...[triggerOperations, webhookOperations, modelOperations, playgroundOperations],
  ...[searchOperations, requestOperations, runCountOperations, upkeepOperations],
  processOperations,
];

export const OPERATIONS: readonly AnyOperation[] = FAMILIES.flatMap((family) =>
  Object.values(family),
);
