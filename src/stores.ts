// Every store by name: the writer serves them, fail points and the conformance suite need them.
import { approvalLinkStore } from "./access/approval-links/store.ts";
import { auditStore } from "./access/audit/store.ts";
import { holdStore } from "./access/holds/store.ts";
import { operatorStore } from "./access/operators/store.ts";
import { sessionStore } from "./access/sessions/store.ts";
import { accountStore, keyStore } from "./access/store.ts";
import { approvalStore } from "./agents/approvals/store.ts";
import { agentStore } from "./agents/definitions/store.ts";
import { evaluationStore } from "./agents/evaluations/store.ts";
import { noteStore } from "./agents/notes/store.ts";
import { runStore } from "./agents/runs/store/index.ts";
import { threadStore } from "./agents/threads/store.ts";
import { connectionStore } from "./agents/tools/connections/store.ts";
import { toolStore } from "./agents/tools/http/store/index.ts";
import { mcpServerStore } from "./agents/tools/mcp/store.ts";
import { usageStore } from "./agents/usage/store.ts";
import { processStore } from "./cluster/store.ts";
import { counterStore } from "./counters/store.ts";
import { secretStore } from "./crypto/store.ts";
import { budgetStore } from "./gateway/budgets/store.ts";
import { requestLogStore } from "./gateway/request-log/store/index.ts";
import { installationStore } from "./installation/store.ts";
import { accountDeletionStore } from "./inventory/accounts/store.ts";
import { activityStore } from "./inventory/activity/store.ts";
import { idStore } from "./inventory/ids/store.ts";
import { managedServerStore } from "./models/autostart/store.ts";
import { modelStore } from "./models/store.ts";
import { outboxStore } from "./outbox/store.ts";
import { sweepStore } from "./retention/store.ts";
import { storageStore } from "./storage/store.ts";
import { triggerStore } from "./triggers/store/index.ts";
import { webhookStore } from "./webhooks/store/index.ts";

export const stores = [
  ...[
    accountStore,
    keyStore,
    holdStore,
    operatorStore,
    sessionStore,
    approvalLinkStore,
    auditStore,
  ],
  ...[installationStore, secretStore, storageStore, sweepStore],
  ...[modelStore, managedServerStore, requestLogStore, budgetStore],
  ...[
    agentStore,
    threadStore,
    processStore,
    counterStore,
    runStore,
    usageStore,
    outboxStore,
    evaluationStore,
  ],
  ...[approvalStore, toolStore, mcpServerStore, connectionStore, noteStore],
  ...[triggerStore, webhookStore],
  ...[idStore, activityStore, accountDeletionStore],
];
