// The use cases of an operator, on the modules of an app or on a database opened for one command.
import { type Access, buildAccess } from "../access/index.ts";
import {
  createAgentQueries,
  createApprovalQueries,
  createConnections,
  createRunQueries,
  createToolQueries,
} from "../agents/index.ts";
import { createSecrets, type SecretsModule } from "../crypto/index.ts";
import {
  type Database,
  type DatabaseLocation,
  DatabaseUnavailable,
  openDatabase,
} from "../database/index.ts";
import {
  createGrants,
  createManagedServerStatuses,
  createSwitches,
  needsGrant,
} from "../models/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Settings } from "../settings/index.ts";
import { storageStore } from "../storage/index.ts";
import { stores } from "../stores.ts";
import { createTriggerQueries } from "../triggers/index.ts";
import { createWebhookQueries } from "../webhooks/index.ts";
import { AccountDirectory, createAccountAdmin } from "./accounts.ts";
import { createAgentAdmin } from "./agents.ts";
import { createApprovalAdmin } from "./approvals.ts";
import { createConnectionAdmin } from "./connections.ts";
import { createDevKeys, createFirstKey, DEV } from "./first-keys.ts";
import { createKeyAdmin } from "./keys.ts";
import { createModelAdmin } from "./models.ts";
import { createRunAdmin } from "./runs.ts";
import { createToolAdmin } from "./tools.ts";
import { createTriggerAdmin } from "./triggers.ts";
import { createSecretAdmin, createSweepAdmin } from "./upkeep.ts";
import { createUsageReport } from "./usage.ts";
import { createWebhookAdmin } from "./webhooks.ts";

export interface AdminOptions {
  /** Only models of the settings can be switched, granted and put on a key's list. */
  settings: Settings;
  access: Access;
  database: Database;
  clock: Clock;
  ids: Ids;
  secrets: SecretsModule;
}

export function buildAdmin(options: AdminOptions) {
  const { settings, access, database, clock, ids, secrets } = options;
  const { models } = settings;
  const directory = new AccountDirectory(access);
  const agents = createAgentQueries(database);
  const runs = createRunQueries(database);
  const accounts = createAccountAdmin({
    access,
    clock,
    directory,
    models,
    grants: createGrants(database, clock),
    listStored: database.bind(storageStore).list,
  });
  return {
    accounts,
    agents: createAgentAdmin({ access, directory, agents, clock }),
    approvals: createApprovalAdmin({
      directory,
      agents,
      runs,
      approvals: createApprovalQueries({ database, clock, ids }),
    }),
    keys: createKeyAdmin({ access, directory, clock, models: models.map(({ id }) => id) }),
    connections: createConnectionAdmin({
      directory,
      connections: createConnections({ database, secrets, clock, ids }),
      connectionsMax: settings.limits.connections,
    }),
    models: createModelAdmin({
      settings,
      switches: createSwitches(database, clock),
      units: createManagedServerStatuses(database),
    }),
    runs: createRunAdmin({ directory, agents, runs, clock }),
    secrets: createSecretAdmin(secrets),
    sweeps: createSweepAdmin({ database, clock, settings: () => settings }),
    tools: createToolAdmin({
      directory,
      tools: createToolQueries(database),
      toolsMax: settings.limits.tools,
    }),
    triggers: createTriggerAdmin({
      directory,
      triggers: createTriggerQueries({ database, clock }),
    }),
    usage: createUsageReport({ access, directory, database, clock }),
    webhooks: createWebhookAdmin({
      directory,
      clock,
      webhooks: createWebhookQueries({ database, clock, ids, settings: () => settings }),
    }),
    /** Creates the missing fixed keys of `wadi dev`; returns those beside `first`. */
    createDevKeys: (first: string): Promise<string[]> => createDevKeys(access, clock, first),
    /** Grants every model to the account of `wadi dev`; its account `other` gets none. */
    async grantDevModels(): Promise<void> {
      for (const model of models) if (needsGrant(model)) await accounts.grant(DEV, model.id);
    },
    /** Creates the key of the first `wadi serve`; returns its secret. */
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
  secrets_key_file: string | null;
  /** Reports a fault of the secrets key, in a sentence. */
  warn(message: string): void;
}

/** Opens the database beside a running server; the caller closes it. Throws DatabaseUnusable. */
export async function openAdmin(options: OpenAdminOptions) {
  const { settings, place, clock, ids, secrets_key_file: file, warn } = options;
  const onFailure = (failure: unknown) => {
    // The command itself fails with it.
    if (!(failure instanceof DatabaseUnavailable)) throw failure;
  };
  const database = await openDatabase({ place, stores, clock, onFailure });
  const access = buildAccess({ database, clock, ids, alias: settings.service.alias });
  const secrets = createSecrets({ database, file, clock, log: { warn, info: warn } });
  const admin: Admin = buildAdmin({ settings, access, database, clock, ids, secrets });
  return { admin, close: database.close };
}
