// Every store by name: the writer serves them, fail points and the conformance suite need them.
import { holdStore } from "./access/holds/store.ts";
import { accountStore, keyStore } from "./access/store.ts";
import { approvalStore } from "./agents/approvals/store.ts";
import { agentStore } from "./agents/definitions/store.ts";
import { noteStore } from "./agents/notes/store.ts";
import { runStore } from "./agents/runs/store/index.ts";
import { threadStore } from "./agents/threads/store.ts";
import { connectionStore } from "./agents/tools/connections/store.ts";
import { toolStore } from "./agents/tools/http/store.ts";
import { usageStore } from "./agents/usage/store.ts";
import { ledgerStore } from "./gateway/ledger/store.ts";
import { modelStore } from "./models/store.ts";
import { unitStore } from "./models/unit/store.ts";
import { outboxStore } from "./platform/outbox/store.ts";
import { processStore } from "./platform/processes/store.ts";
import { secretStore } from "./platform/secrets/store.ts";
import { storageStore } from "./platform/storage/store.ts";
import { sweepStore } from "./platform/sweeps/store.ts";
import { triggerStore } from "./triggers/store/index.ts";
import { webhookStore } from "./webhooks/store/index.ts";

export const stores = [
  ...[accountStore, keyStore, holdStore, secretStore, storageStore, sweepStore],
  ...[modelStore, unitStore, ledgerStore],
  ...[agentStore, threadStore, processStore, runStore, usageStore, outboxStore],
  ...[approvalStore, toolStore, connectionStore, noteStore],
  ...[triggerStore, webhookStore],
];
