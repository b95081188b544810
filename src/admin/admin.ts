// The use cases of an operator, on the modules of an app or on a database opened for one command.
import { buildAccess } from "../access/index.ts";
import { createSecrets } from "../crypto/index.ts";
import {
  type DatabaseLocation,
  DatabaseUnavailable,
  type OpenOptions,
  openDatabase,
} from "../database/index.ts";
import { needsGrant } from "../models/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import { listSettings, type Settings } from "../settings/index.ts";
import { stores } from "../stores.ts";
import { createAccountDeletion } from "./account-deletion.ts";
import { AccountDirectory, createAccountAdmin } from "./accounts.ts";
import { createAgentAdmin } from "./agents.ts";
import { createApprovalLinkAdmin } from "./approval-links.ts";
import { createApprovalAdmin } from "./approvals.ts";
import { createAuditLog } from "./audit.ts";
import { createConnectionAdmin } from "./connections.ts";
import type { AdminDeps } from "./deps.ts";
import { createEvaluationAdmin } from "./evaluations.ts";
import { createDevKeys, createFirstKey, DEV } from "./first-keys.ts";
import { createIdResolver } from "./id-parts.ts";
import type { Installation } from "./installation.ts";
import { createKeyAdmin } from "./keys.ts";
import { createLimitAdmin } from "./limits.ts";
import { createLinkSessions } from "./link-sessions.ts";
import { createTrafficReader } from "./model-traffic.ts";
import { createModelAdmin } from "./models.ts";
import { createOperatorAdmin } from "./operators.ts";
import { createPauseAdmin } from "./pause.ts";
import { createPlayground } from "./playground.ts";
import { createProcessAdmin } from "./processes.ts";
import { createRequestAdmin } from "./requests.ts";
import { createFailureCounts } from "./run-failures.ts";
import { createRunUsageReport } from "./run-usage.ts";
import { createRunAdmin } from "./runs.ts";
import { createSearch } from "./search.ts";
import { createServiceReader } from "./services.ts";
import { createSessionList } from "./session-list.ts";
import { createSessionAdmin } from "./sessions.ts";
import { createStatusReader } from "./status.ts";
import { createToolAdmin } from "./tools.ts";
import { createTriggerAdmin } from "./triggers.ts";
import { createSecretAdmin, createSweepAdmin } from "./upkeep.ts";
import { createUsageReport } from "./usage.ts";
import { createWebhookAdmin } from "./webhooks.ts";

export function buildAdmin(deps: AdminDeps) {
  const { access, clock, settings } = deps;
  const directory = new AccountDirectory(access);
  const accounts = createAccountAdmin(deps, directory);
  const audit = createAuditLog(deps);
  const operators = createOperatorAdmin(deps);
  const approvals = createApprovalAdmin(deps, directory);
  const approvalLinks = createApprovalLinkAdmin(deps, { approvals, operators, directory });
  const sessions = createSessionAdmin(deps, { operators, audit });
  return {
    accounts,
    accountDeletion: createAccountDeletion(deps, directory),
    clock,
    installation: deps.installation,
    resolveId: createIdResolver(deps.database),
    agents: createAgentAdmin(deps, directory),
    approvals,
    approvalLinks,
    linkSessions: createLinkSessions(deps, { approvals, audit, directory }),
    audit,
    connections: createConnectionAdmin(deps, directory),
    evaluations: createEvaluationAdmin(deps),
    keys: createKeyAdmin(deps, directory),
    limits: createLimitAdmin(deps, directory),
    models: createModelAdmin(deps),
    operators,
    pause: createPauseAdmin(deps),
    playground: createPlayground(deps),
    processes: createProcessAdmin(deps),
    requests: createRequestAdmin(deps, directory),
    runs: createRunAdmin(deps, directory),
    countFailures: createFailureCounts(deps, directory),
    runUsage: createRunUsageReport(deps, directory),
    search: createSearch(deps, directory),
    secrets: createSecretAdmin(deps),
    sessions,
    sessionList: createSessionList({ sessions, approvalLinks, directory }),
    readConfig: () => listSettings(settings),
    readStatus: createStatusReader(deps),
    readTraffic: createTrafficReader(deps),
    listServices: createServiceReader(deps),
    sweeps: createSweepAdmin(deps),
    tools: createToolAdmin(deps, directory),
    triggers: createTriggerAdmin(deps, directory),
    usage: createUsageReport(deps, directory),
    webhooks: createWebhookAdmin(deps, directory),
    /** Creates the missing fixed keys of `wadi dev`; returns those beside `first`. */
    createDevKeys: (first: string): Promise<string[]> => createDevKeys(access, clock, first),
    /** Grants every model to the account of `wadi dev`; its account `other` gets none. */
    async grantDevModels(): Promise<void> {
      for (const model of settings.models.filter(needsGrant)) await accounts.grant(DEV, model.id);
    },
    createFirstKey: (): Promise<string | undefined> => createFirstKey(access),
  };
}
export type Admin = ReturnType<typeof buildAdmin>;

export interface OpenAdminOptions {
  settings: Settings;
  place: DatabaseLocation;
  clock: Clock;
  ids: Ids;
  /** Read by the use cases that need it only; null keeps a key in memory. */
  secretsKeyFile: string | null;
  installation: Installation;
  readLive?: AdminDeps["readLive"];
  beforeMigration?: OpenOptions["beforeMigration"];
  warn(message: string): void;
}

/** Opens the database beside a running server; the caller closes it. Throws DatabaseUnusable. */
export async function openAdmin(options: OpenAdminOptions) {
  const { settings, place, clock, ids, secretsKeyFile: file, installation, warn } = options;
  const onFailure = (failure: unknown) => {
    // The command fails with the same error.
    if (!(failure instanceof DatabaseUnavailable)) throw failure;
  };
  const { beforeMigration } = options;
  const database = await openDatabase({ place, stores, clock, onFailure, beforeMigration });
  const access = buildAccess({ database, clock, ids, alias: settings.service.alias });
  const secrets = createSecrets({ database, file, clock, log: { warn, info: warn } });
  const admin: Admin = buildAdmin({
    settings,
    access,
    database,
    place,
    clock,
    ids,
    secrets,
    installation,
    server: null,
    readLive: options.readLive,
  });
  return { admin, close: database.close };
}
