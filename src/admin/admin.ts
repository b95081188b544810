// What an operator may do: on the modules of an app, or on a database opened for one command.
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
import { createAccountAdmin } from "./accounts.ts";
import { createAgentAdmin } from "./agents.ts";
import { createApprovalAdmin } from "./approvals.ts";
import { createConnectionAdmin } from "./connections.ts";
import { createDevKeys, createFirstKey, DEV } from "./first-keys.ts";
import { createKeyAdmin } from "./keys.ts";
import { createModelAdmin } from "./models.ts";
import { createRunAdmin } from "./runs.ts";
import { createSecretAdmin } from "./secrets.ts";
import { createSweepAdmin } from "./sweeps.ts";
import { createToolAdmin } from "./tools.ts";
import { createTriggerAdmin } from "./triggers.ts";
import { createUsageReport } from "./usage.ts";
import { createWebhookAdmin } from "./webhooks.ts";

export interface AdminOptions {
  /** Only models of the settings can be switched, granted and put on a key's list. */
  settings: Settings;
  access: Access;
  database: Database;
  clock: Clock;
  ids: Ids;
  /** Of the database and the installation's key file: what is to be kept is sealed with it. */
  secrets: SecretsModule;
}

export function buildAdmin(options: AdminOptions) {
  const { settings, access, database, clock, ids, secrets } = options;
  const { models } = settings;
  const grants = createGrants(database, clock);
  const { require: requireAccount, ...accounts } = createAccountAdmin({
    ...{ access, clock, grants, models },
    listStored: database.bind(storageStore).list,
  });
  const agents = createAgentQueries(database);
  const runs = createRunQueries(database);
  return {
    accounts,
    agents: createAgentAdmin({ access, agents, clock, requireAccount }),
    approvals: createApprovalAdmin({
      ...{ access, runs, requireAccount },
      agents,
      approvals: createApprovalQueries({ database, clock, ids }),
    }),
    keys: createKeyAdmin({
      ...{ access, clock, requireAccount },
      models: models.map(({ id }) => id),
    }),
    connections: createConnectionAdmin({
      ...{ access, requireAccount },
      connections: createConnections({ database, secrets, clock, ids }),
      connections_max: settings.limits.connections,
    }),
    models: createModelAdmin({
      settings,
      switches: createSwitches(database, clock),
      units: createManagedServerStatuses(database),
    }),
    runs: createRunAdmin({
      ...{ access, clock, requireAccount, runs },
      agents,
    }),
    secrets: createSecretAdmin(secrets),
    sweeps: createSweepAdmin({ database, clock, settings: () => settings }),
    tools: createToolAdmin({
      ...{ access, requireAccount },
      tools: createToolQueries(database),
      tools_max: settings.limits.tools,
    }),
    triggers: createTriggerAdmin({
      ...{ access, requireAccount },
      triggers: createTriggerQueries({ database, clock }),
    }),
    usage: createUsageReport({ access, database, clock }),
    webhooks: createWebhookAdmin({
      ...{ access, clock, requireAccount },
      webhooks: createWebhookQueries({ database, clock, ids, settings: () => settings }),
    }),
    /** `wadi dev`: makes the fixed keys that are not there yet; returns those beside `first`. */
    createDevKeys: (first: string): Promise<string[]> => createDevKeys(access, clock, first),
    /**
     * `wadi dev`, behind its keys: data in memory has no other way to a grant. The account `other`
     * gets none, and shows what is refused.
     */
    async grantDevModels(): Promise<void> {
      for (const model of models) if (needsGrant(model)) await accounts.grant(DEV, model.id);
    },
    /** `wadi serve`: returns the secret of a first start's key. */
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
  warn(why: string): void;
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
