// Joins what the operator may do, on the houses of an app or on those opened for one verb.
import type { Access } from "../access/index.ts";
import {
  createAgentBook,
  createApprovalBook,
  createConnections,
  createRunBook,
  createToolBook,
} from "../agents/index.ts";
import { createGrants, createSwitches, createUnitStandings, needsGrant } from "../models/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database/index.ts";
import type { Ids } from "../platform/ids.ts";
import type { Secrets } from "../platform/secrets/secrets.ts";
import type { Settings } from "../platform/settings/index.ts";
import { storageStore } from "../platform/storage/store.ts";
import { createTriggerBook } from "../triggers/index.ts";
import { createWebhookBook } from "../webhooks/index.ts";
import { createAccountVerbs } from "./accounts.ts";
import { createAgentVerbs } from "./agents.ts";
import { createApprovalVerbs } from "./approvals.ts";
import { createConnectionVerbs } from "./connections.ts";
import { createDevKeys, DEV } from "./dev-keys.ts";
import { welcome } from "./first-start.ts";
import { createKeyVerbs } from "./keys.ts";
import { createModelVerbs } from "./models.ts";
import { createRunVerbs } from "./runs.ts";
import { createSecretVerbs } from "./secrets.ts";
import { createSweepVerbs } from "./sweeps.ts";
import { createToolVerbs } from "./tools.ts";
import { createTriggerVerbs } from "./triggers.ts";
import { createUsageVerb } from "./usage.ts";
import { createWebhookVerbs } from "./webhooks.ts";

export interface OperatorOptions {
  /** Only models of the settings can be switched, granted and put on a key's list. */
  settings: Settings;
  access: Access;
  database: Database;
  clock: Clock;
  ids: Ids;
  /** Of the database and the installation's key file: what is to be kept is sealed with it. */
  secrets: Secrets;
}

export function buildOperator(options: OperatorOptions) {
  const { settings, access, database, clock, ids, secrets } = options;
  const { models } = settings;
  const grants = createGrants(database, clock);
  const { require: requireAccount, ...accounts } = createAccountVerbs({
    ...{ access, grants, models },
    listStored: database.bind(storageStore).list,
  });
  const book = createAgentBook(database);
  const runs = createRunBook(database);
  return {
    accounts,
    agents: createAgentVerbs({ access, book, requireAccount }),
    approvals: createApprovalVerbs({
      ...{ access, runs, requireAccount },
      agents: book,
      approvals: createApprovalBook({ database, clock, ids }),
    }),
    keys: createKeyVerbs({
      ...{ access, clock, requireAccount },
      models: models.map(({ id }) => id),
    }),
    connections: createConnectionVerbs({
      ...{ access, requireAccount },
      connections: createConnections({ database, secrets, clock, ids }),
      connections_max: settings.limits.connections,
    }),
    models: createModelVerbs({
      settings,
      switches: createSwitches(database, clock),
      units: createUnitStandings(database),
    }),
    runs: createRunVerbs({
      ...{ access, clock, requireAccount, runs },
      agents: book,
    }),
    secrets: createSecretVerbs(secrets),
    sweeps: createSweepVerbs({ database, clock, settings: () => settings }),
    tools: createToolVerbs({
      ...{ access, requireAccount },
      tools: createToolBook(database),
      tools_max: settings.limits.tools,
    }),
    triggers: createTriggerVerbs({
      ...{ access, requireAccount },
      triggers: createTriggerBook({ database, clock }),
    }),
    usage: createUsageVerb({ access, database, clock }),
    webhooks: createWebhookVerbs({
      ...{ access, clock, requireAccount },
      webhooks: createWebhookBook({ database, clock, ids, settings: () => settings }),
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
    /** `wadi serve`: of a first start, the secret of the one key; undefined: it was no first. */
    welcome: (): Promise<string | undefined> => welcome(access),
  };
}
export type Operator = ReturnType<typeof buildOperator>;
