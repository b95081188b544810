// Every released migration in order; none is ever changed. The executable holds them packed.

import { accountsAndKeys } from "./0001-accounts-and-keys.ts";
import { statesOfModels } from "./0002-states-of-models.ts";
import { units } from "./0003-units.ts";
import { requestLog } from "./0004-request-log.ts";
import { holds } from "./0005-holds.ts";
import { agents } from "./0006-agents.ts";
import { tools } from "./0007-tools.ts";
import { events } from "./0008-events.ts";
import { upkeep } from "./0009-upkeep.ts";
import { commits } from "./0010-commits.ts";
import { crashes } from "./0011-crashes.ts";
import { storedBytes } from "./0012-stored-bytes.ts";
import { operators } from "./0013-operators.ts";
import { requestDecisions } from "./0014-request-decisions.ts";
import { budgets } from "./0015-budgets.ts";
import { usageSums } from "./0016-usage-sums.ts";
import { operatorVerbs } from "./0018-operator-verbs.ts";
import { installation } from "./0019-installation.ts";
import { requestIndex } from "./0021-request-index.ts";
import { estimatedCosts } from "./0022-estimated-costs.ts";
import { consoleSessions } from "./0023-console-sessions.ts";
import { stepExecutions } from "./0025-step-executions.ts";
import { sentAttempts } from "./0026-sent-attempts.ts";
import { keyEndings } from "./0027-key-endings.ts";
import { playgroundRequests } from "./0028-playground-requests.ts";
import { approvalLinks } from "./0029-approval-links.ts";
import { requestCapacity } from "./0030-request-capacity.ts";
import { outputAndImages } from "./0032-output-and-images.ts";
import { reruns } from "./0033-reruns.ts";
import { mcpServers } from "./0034-mcp-servers.ts";
import { exposedAgents } from "./0035-exposed-agents.ts";
import { leases } from "./0040-leases.ts";
import { processColumns } from "./0041-processes.ts";
import { sharedCounters } from "./0042-shared-counters.ts";
import { sharedBudgets } from "./0043-shared-budgets.ts";
import type { Migration } from "./migration.ts";

/** `schema.sql` has their tables in SQLite. */
export const released: readonly Migration[] = [
  ...[accountsAndKeys, statesOfModels, units, requestLog],
  ...[holds, agents, tools, events],
  ...[upkeep, commits, crashes, storedBytes],
  ...[operators, requestDecisions, budgets, usageSums, operatorVerbs],
  ...[installation, requestIndex, estimatedCosts, consoleSessions],
  ...[stepExecutions, sentAttempts, keyEndings, playgroundRequests, approvalLinks],
  ...[requestCapacity, outputAndImages, reruns, mcpServers, exposedAgents],
  ...[leases, processColumns, sharedCounters, sharedBudgets],
];
