// Cases of every store method, for the conformance suite and the crash matrix.
import { expect } from "bun:test";
import { approvalLinkStore } from "../../src/access/approval-links/store.ts";
import { auditStore } from "../../src/access/audit/store.ts";
import type { Key } from "../../src/access/credentials.ts";
import { holdStore } from "../../src/access/holds/store.ts";
import { operatorStore } from "../../src/access/operators/store.ts";
import { sessionStore } from "../../src/access/sessions/store.ts";
import { accountStore, type FoundKey, keyStore } from "../../src/access/store.ts";
import { approvalStore } from "../../src/agents/approvals/store.ts";
import { agentStore } from "../../src/agents/definitions/store.ts";
import { evaluationStore } from "../../src/agents/evaluations/store.ts";
import { noteStore } from "../../src/agents/notes/store.ts";
import { runStore } from "../../src/agents/runs/store/index.ts";
import { threadStore } from "../../src/agents/threads/store.ts";
import { connectionStore } from "../../src/agents/tools/connections/store.ts";
import { toolStore } from "../../src/agents/tools/http/store/index.ts";
import { mcpServerStore } from "../../src/agents/tools/mcp/store.ts";
import { usageStore } from "../../src/agents/usage/store.ts";
import { processStore } from "../../src/cluster/store.ts";
import { counterStore } from "../../src/counters/store.ts";
import { secretStore } from "../../src/crypto/store.ts";
import type { Database } from "../../src/database/index.ts";
import { budgetStore } from "../../src/gateway/budgets/store.ts";
import { requestLogStore } from "../../src/gateway/request-log/store/index.ts";
import { installationStore } from "../../src/installation/store.ts";
import { accountDeletionStore } from "../../src/inventory/accounts/store.ts";
import { activityStore } from "../../src/inventory/activity/store.ts";
import { idStore } from "../../src/inventory/ids/store.ts";
import { type ManagedServerRow, managedServerStore } from "../../src/models/autostart/store.ts";
import { type ModelStatus, modelStore } from "../../src/models/store.ts";
import { outboxStore } from "../../src/outbox/store.ts";
import { sweepStore } from "../../src/retention/store.ts";
import { storageStore } from "../../src/storage/store.ts";
import { triggerStore } from "../../src/triggers/store/index.ts";
import { webhookStore } from "../../src/webhooks/store/index.ts";
import { readHolds } from "../support/holds.ts";
import { noteWrites } from "../support/notes.ts";
import { readRequestLog } from "../support/request-log.ts";
import { readRuns } from "../support/runs.ts";
import { keeperStore } from "../support/secret-keeper.ts";
import { readStorage } from "../support/storage.ts";
import { toolWrites } from "../support/tools.ts";
import { bindWebhookWrites } from "../support/webhooks.ts";
import { agentCases } from "./agent-cases.ts";
import { approvalCases } from "./approval-cases.ts";
import { approvalLinkCases } from "./approval-link-cases.ts";
import { budgetCases, limitCases } from "./budget-cases.ts";
import { connectionCases } from "./connection-cases.ts";
import { counterCases } from "./counter-cases.ts";
import { dueCases } from "./due-cases.ts";
import { evaluationCases } from "./evaluation-cases.ts";
import { fireCases } from "./fire-cases.ts";
import { holdCases } from "./hold-cases.ts";
import { inventoryIdCases } from "./id-cases.ts";
import { installationCases } from "./installation-cases.ts";
import { inventoryCases } from "./inventory-cases.ts";
import { mcpCases } from "./mcp-cases.ts";
import { noteCases } from "./note-cases.ts";
import { operatorCases } from "./operator-cases.ts";
import { outboxCases } from "./outbox-cases.ts";
import { processCases } from "./process-cases.ts";
import { requestLogCases } from "./request-log-cases.ts";
import { runCases } from "./run-cases.ts";
import { runImageCases } from "./run-image-cases.ts";
import { runOverviewCases } from "./run-overview-cases.ts";
import { runRecordCases } from "./run-record-cases.ts";
import { runRouteCases } from "./run-route-cases.ts";
import { runStartCases } from "./run-start-cases.ts";
import { runWorkCases } from "./run-work-cases.ts";
import { secretCases } from "./secret-cases.ts";
import { sessionCases } from "./session-cases.ts";
import { storageCases } from "./storage-cases.ts";
import { sweepCases } from "./sweep-cases.ts";
import { threadCases } from "./thread-cases.ts";
import { toolCases } from "./tool-cases.ts";
import { triggerArchivingCases } from "./trigger-archiving-cases.ts";
import { triggerCases } from "./trigger-cases.ts";
import { triggerHookCases } from "./trigger-hook-cases.ts";
import { triggerListCases } from "./trigger-list-cases.ts";
import { usageCases } from "./usage-cases.ts";
import { webhookCases } from "./webhook-cases.ts";
import { webhookClaimCases } from "./webhook-claim-cases.ts";
import { webhookDeliveryCases } from "./webhook-delivery-cases.ts";
import { webhookListCases } from "./webhook-list-cases.ts";
import { webhookSettleCases } from "./webhook-settle-cases.ts";

export function bindStores(database: Database) {
  return {
    accounts: database.bind(accountStore),
    installation: database.bind(installationStore),
    keys: database.bind(keyStore),
    models: database.bind(modelStore),
    units: database.bind(managedServerStore),
    requestLog: database.bind(requestLogStore),
    budgets: database.bind(budgetStore),
    holds: database.bind(holdStore),
    operators: database.bind(operatorStore),
    sessions: database.bind(sessionStore),
    approvalLinks: database.bind(approvalLinkStore),
    audit: database.bind(auditStore),
    held: readHolds(database),
    written: readRequestLog(database),
    agents: database.bind(agentStore),
    evaluations: database.bind(evaluationStore),
    threads: database.bind(threadStore),
    processes: database.bind(processStore),
    counters: database.bind(counterStore),
    runs: database.bind(runStore),
    approvals: database.bind(approvalStore),
    notes: database.bind(noteStore),
    noted: database.bind(noteWrites),
    usage: database.bind(usageStore),
    tools: database.bind(toolStore),
    mcpServers: database.bind(mcpServerStore),
    numbered: database.bind(toolWrites),
    connections: database.bind(connectionStore),
    ran: readRuns(database),
    outbox: database.bind(outboxStore),
    storage: database.bind(storageStore),
    rows: readStorage(database),
    secrets: database.bind(secretStore),
    sweeps: database.bind(sweepStore),
    keeper: database.bind(keeperStore),
    triggers: database.bind(triggerStore),
    webhooks: database.bind(webhookStore),
    ids: database.bind(idStore),
    activity: database.bind(activityStore),
    accountDeletions: database.bind(accountDeletionStore),
    sent: bindWebhookWrites(database),
  };
}
export type Stores = ReturnType<typeof bindStores>;

export interface Case {
  /** `store.method` */
  method: string;
  /** Continues the method's name. */
  title: string;
  /** Prepares the database. */
  setup?(stores: Stores): Promise<unknown>;
  /** Calls the method once. A write's first case changes something, for the crash matrix. */
  act(stores: Stores): Promise<unknown>;
  /** Checks the answer of `act`, and later reads. */
  check(answer: unknown, stores: Stores): Promise<void> | void;
}

const NOW = Date.UTC(2026, 10, 20);
const owner = { id: "a-1", name: "owner", created_at: NOW };
const other = { id: "a-2", name: "other", created_at: NOW + 1 };

function makeKey(id: string, fields: Partial<Key> = {}): Key {
  return {
    id,
    account_id: owner.id,
    name: "laptop",
    kind: "ordinary",
    scopes: ["think", "agents"],
    models: ["stub-1"],
    max_output_tokens: 512,
    created_at: NOW,
    expires_at: NOW + 1,
    revoked_at: null,
    ...fields,
  };
}
const bare: Partial<Key> = {
  account_id: null,
  name: null,
  kind: "internal",
  scopes: [],
  models: null,
  max_output_tokens: null,
  expires_at: null,
};
const UNLIMITED = { limits: null, account_limits: null };
const NO_MODELS = { off_models: null, blocked_models: null, granted_models: null };
const secretOf = (key: Key) => ({
  hash: `hash of ${key.id}`,
  key_id: key.id,
  created_at: NOW,
  expires_at: null,
  ends_in: "c5K7",
});
/** A key with the ending of its secret, which nothing has used. */
const seen = (key: Key) => ({ ...key, ends_in: "c5K7", last_used_at: null });
const addOwner = ({ accounts }: Stores) => accounts.create(owner);
const addKey = async (stores: Stores, key: Key) => {
  await stores.keys.create(key, secretOf(key));
};

const accountCases: Case[] = [
  {
    method: "accounts.create",
    title: "stores the account",
    act: addOwner,
    async check(answer, { accounts }) {
      expect(answer).toBe(true);
      expect(await accounts.list()).toEqual([owner]);
    },
  },
  {
    method: "accounts.create",
    title: "refuses a taken name",
    setup: addOwner,
    act: ({ accounts }) => accounts.create({ ...other, name: owner.name }),
    async check(answer, { accounts }) {
      expect(answer).toBe(false);
      expect(await accounts.list()).toEqual([owner]);
    },
  },
  {
    method: "accounts.createFirst",
    title: "creates an account with its key",
    act: ({ accounts }) => accounts.createFirst(owner, makeKey("k-1"), secretOf(makeKey("k-1"))),
    async check(answer, { accounts, keys }) {
      expect(answer).toBe(true);
      expect(await accounts.list()).toEqual([owner]);
      expect(await keys.list(null)).toEqual([seen(makeKey("k-1"))]);
      expect(await keys.find("hash of k-1")).toMatchObject({ id: "k-1" });
    },
  },
  {
    method: "accounts.createFirst",
    title: "does nothing if an account exists",
    setup: addOwner,
    act: ({ accounts }) => accounts.createFirst(other, makeKey("k-1"), secretOf(makeKey("k-1"))),
    async check(answer, { accounts, keys }) {
      expect(answer).toBe(false);
      expect(await accounts.list()).toEqual([owner]);
      expect(await keys.list(null)).toEqual([]);
    },
  },
  {
    method: "accounts.list",
    title: "sorts by the names' code points, capitals first",
    async setup({ accounts }) {
      for (const name of ["b", "B", "a.b", "a-b", "ab", "é"]) {
        await accounts.create({ id: `id of ${name}`, name, created_at: NOW });
      }
    },
    act: ({ accounts }) => accounts.list(),
    check(answer) {
      const names = (answer as { name: string }[]).map((account) => account.name);
      expect(names).toEqual(["B", "a-b", "a.b", "ab", "b", "é"]);
    },
  },
  {
    method: "accounts.find",
    title: "finds by the exact name",
    setup: addOwner,
    act: ({ accounts }) => accounts.find("owner"),
    async check(answer, { accounts }) {
      expect(answer).toEqual(owner);
      expect(await accounts.find("Owner")).toBeUndefined();
    },
  },
  {
    method: "accounts.count",
    title: "returns the number of accounts",
    async setup({ accounts }) {
      await accounts.create(owner);
      await accounts.create(other);
    },
    act: ({ accounts }) => accounts.count(),
    check: (answer) => expect(answer).toBe(2),
  },
];

const keyCases: Case[] = [
  {
    method: "keys.create",
    title: "stores a key with every field set, and its secret",
    setup: addOwner,
    act: ({ keys }) => keys.create(makeKey("k-1"), secretOf(makeKey("k-1"))),
    async check(_, { keys }) {
      expect(await keys.find("hash of k-1")).toEqual({
        ...makeKey("k-1"),
        ...UNLIMITED,
        ...NO_MODELS,
        secret_expires_at: null,
      });
    },
  },
  {
    method: "keys.create",
    title: "stores a key without optional fields, and a secret that expires",
    act: ({ keys }) =>
      keys.create(makeKey("k-1", bare), { ...secretOf(makeKey("k-1")), expires_at: NOW + 5 }),
    async check(_, { keys }) {
      expect(await keys.find("hash of k-1")).toEqual({
        ...makeKey("k-1", bare),
        ...UNLIMITED,
        ...NO_MODELS,
        secret_expires_at: NOW + 5,
      });
    },
  },
  {
    method: "keys.find",
    title: "reads the grants of the key's account, and the models that are off or blocked",
    async setup(stores) {
      await addOwner(stores);
      await stores.accounts.create(other);
      await addKey(stores, makeKey("k-1"));
      await stores.models.grant(other.id, "stub-1", NOW);
      for (const id of ["stub-2", "stub-3"]) {
        await stores.models.grant(owner.id, id, NOW);
        await stores.models.turn(id, "is_off", true, NOW);
      }
      await stores.models.turn("stub-3", "is_blocked", true, NOW);
      await stores.keys.find("hash of k-1");
      await stores.models.ungrant(owner.id, "stub-2");
    },
    act: ({ keys }) => keys.find("hash of k-1"),
    check(answer) {
      const { off_models, blocked_models, granted_models } = answer as FoundKey;
      expect(off_models?.split(" ").sort()).toEqual(["stub-2", "stub-3"]);
      expect([blocked_models, granted_models]).toEqual(["stub-3", "stub-3"]);
    },
  },
  {
    method: "keys.find",
    title: "does not find an unknown secret",
    async setup(stores) {
      await addOwner(stores);
      await addKey(stores, makeKey("k-1"));
    },
    act: ({ keys }) => keys.find("hash of k-2"),
    check: (answer) => expect(answer).toBeUndefined(),
  },
  {
    method: "keys.findById",
    title: "finds active and inactive keys, and no unknown one",
    async setup(stores) {
      await addOwner(stores);
      await addKey(stores, makeKey("k-1", { revoked_at: NOW }));
    },
    act: ({ keys }) => keys.findById("k-1"),
    async check(answer, { keys }) {
      expect(answer).toEqual({ ...makeKey("k-1", { revoked_at: NOW }), ...UNLIMITED });
      expect(await keys.findById("k-2")).toBeUndefined();
    },
  },
  {
    method: "keys.findById",
    title: "reads revocation and rotation at once",
    async setup(stores) {
      await addOwner(stores);
      await addKey(stores, makeKey("k-1", { expires_at: null }));
      await stores.keys.findById("k-1");
      await stores.keys.rotate(rotation("second", NOW + 7), NOW + 70);
      await stores.keys.findById("k-1");
      await stores.keys.revoke("k-1", NOW + 8);
    },
    act: ({ keys }) => keys.findById("k-1"),
    check: (answer) =>
      expect(answer).toEqual({
        ...makeKey("k-1", { expires_at: null, revoked_at: NOW + 8 }),
        ...UNLIMITED,
      }),
  },
  {
    method: "keys.list",
    title: "lists newest first, for one account or all",
    async setup(stores) {
      await addOwner(stores);
      await addKey(stores, makeKey("k-1"));
      await addKey(stores, makeKey("k-2", bare));
      await addKey(stores, makeKey("k-3"));
    },
    act: ({ keys }) => keys.list(owner.id),
    async check(answer, { keys }) {
      expect(answer).toEqual([seen(makeKey("k-3")), seen(makeKey("k-1"))]);
      expect(await keys.list(null)).toHaveLength(3);
      expect(await keys.list(other.id)).toEqual([]);
    },
  },
  {
    method: "keys.revoke",
    title: "stores the time of revocation and returns the key",
    async setup(stores) {
      await addOwner(stores);
      await addKey(stores, makeKey("k-1"));
      await addKey(stores, makeKey("k-2"));
    },
    act: ({ keys }) => keys.revoke("k-1", NOW + 7),
    async check(answer, { keys }) {
      const revoked = makeKey("k-1", { revoked_at: NOW + 7 });
      expect(answer).toEqual(revoked);
      expect(await keys.list(owner.id)).toEqual([seen(makeKey("k-2")), seen(revoked)]);
    },
  },
  {
    method: "keys.revoke",
    title: "keeps an earlier time of revocation",
    async setup(stores) {
      await addOwner(stores);
      await addKey(stores, makeKey("k-1", { revoked_at: NOW + 3 }));
    },
    act: ({ keys }) => keys.revoke("k-1", NOW + 7),
    check: (answer) => expect(answer).toMatchObject({ revoked_at: NOW + 3 }),
  },
  {
    method: "keys.revoke",
    title: "returns nothing for an unknown id",
    act: ({ keys }) => keys.revoke("k-1", NOW),
    check: (answer) => expect(answer).toBeUndefined(),
  },
];

const keyChangeCases: Case[] = [
  {
    method: "keys.update",
    title: "changes the given fields of a key in force, which reads see at once",
    async setup(stores) {
      await addOwner(stores);
      await addKey(stores, makeKey("k-1", { expires_at: null }));
      await stores.keys.findById("k-1");
    },
    act: ({ keys }) =>
      keys.update("k-1", { scopes: [], models: null, max_output_tokens: null }, NOW + 7),
    async check(answer, { keys }) {
      const bared = { expires_at: null, scopes: [], models: null, max_output_tokens: null };
      expect(answer).toEqual(makeKey("k-1", bared));
      expect(await keys.findById("k-1")).toEqual({ ...makeKey("k-1", bared), ...UNLIMITED });
    },
  },
  {
    method: "keys.update",
    title: "sets lists, a name and an end",
    async setup(stores) {
      await addOwner(stores);
      await addKey(stores, makeKey("k-1", { ...bare, account_id: owner.id }));
    },
    act: ({ keys }) =>
      keys.update("k-1", { name: "n", models: ["m"], expires_at: NOW + 70 }, NOW + 7),
    check: (answer) =>
      expect(answer).toMatchObject({ name: "n", models: ["m"], expires_at: NOW + 70, scopes: [] }),
  },
  ...[makeKey("k-1", { expires_at: NOW + 7 }), makeKey("k-1", { revoked_at: NOW })].map(
    (key): Case => ({
      method: "keys.update",
      title: `leaves a key alone that is ${key.revoked_at === null ? "expired" : "revoked"}`,
      async setup(stores) {
        await addOwner(stores);
        await addKey(stores, key);
      },
      act: ({ keys }) => keys.update("k-1", { expires_at: null }, NOW + 7),
      check: (answer) => expect(answer).toEqual(key),
    }),
  ),
  {
    method: "keys.update",
    title: "returns nothing for an unknown id",
    act: ({ keys }) => keys.update("k-1", { name: "n" }, NOW),
    check: (answer) => expect(answer).toBeUndefined(),
  },
  {
    method: "keys.noteUses",
    title: "stores the last use of each key, and none of an unknown one",
    async setup(stores) {
      await addOwner(stores);
      await addKey(stores, makeKey("k-1"));
      await addKey(stores, makeKey("k-2"));
      await stores.keys.noteUses([{ key_id: "k-1", last_used_at: NOW }]);
    },
    act: ({ keys }) =>
      keys.noteUses(["k-1", "k-2", "k-3"].map((key_id) => ({ key_id, last_used_at: NOW + 60 }))),
    async check(_, { keys }) {
      expect(await keys.findSeen("k-1")).toMatchObject({ last_used_at: NOW + 60 });
      expect(await keys.findSeen("k-2")).toMatchObject({ last_used_at: NOW + 60 });
      expect(await keys.findSeen("k-3")).toBeUndefined();
    },
  },
  {
    method: "keys.findSeen",
    title: "finds a key with the ending of its newest secret",
    async setup(stores) {
      await addOwner(stores);
      await addKey(stores, makeKey("k-1"));
      await stores.keys.rotate({ ...rotation("second", NOW), ends_in: "2222" }, NOW + 70);
    },
    act: ({ keys }) => keys.findSeen("k-1"),
    check: (answer) => expect(answer).toEqual({ ...seen(makeKey("k-1")), ends_in: "2222" }),
  },
  {
    method: "keys.findSeen",
    title: "finds no ending of a secret of an older version",
    async setup(stores) {
      await addOwner(stores);
      await stores.keys.create(makeKey("k-1"), { ...secretOf(makeKey("k-1")), ends_in: null });
    },
    act: ({ keys }) => keys.findSeen("k-1"),
    check: (answer) => expect(answer).toEqual({ ...seen(makeKey("k-1")), ends_in: null }),
  },
];

const rotation = (hash: string, created_at: number) => ({
  hash,
  key_id: "k-1",
  created_at,
  expires_at: null,
  ends_in: null,
});
/** Expiry of a secret of k-1; undefined if it is unknown. */
const endOf = async ({ keys }: Stores, hash: string) => {
  const found = await keys.find(hash);
  return found && [found.id, found.secret_expires_at];
};

const rotationCases: Case[] = [
  {
    method: "keys.rotate",
    title: "adds a new secret, and the previous one expires after the overlap",
    async setup(stores) {
      await addOwner(stores);
      await addKey(stores, makeKey("k-1", { expires_at: null }));
      await addKey(stores, makeKey("k-2"));
    },
    act: ({ keys }) => keys.rotate(rotation("second", NOW + 7), NOW + 70),
    async check(answer, stores) {
      expect(answer).toEqual(makeKey("k-1", { expires_at: null }));
      expect(await endOf(stores, "hash of k-1")).toEqual(["k-1", NOW + 70]);
      expect(await endOf(stores, "second")).toEqual(["k-1", null]);
      // Other keys stay unchanged.
      expect(await endOf(stores, "hash of k-2")).toEqual(["k-2", null]);
    },
  },
  {
    method: "keys.rotate",
    title: "keeps at most two secrets, and extends no expiry that is set",
    async setup(stores) {
      await addOwner(stores);
      await addKey(stores, makeKey("k-1", { expires_at: null }));
      await stores.keys.rotate(rotation("second", NOW + 7), NOW + 70);
    },
    act: ({ keys }) => keys.rotate(rotation("third", NOW + 8), NOW + 700),
    async check(_, stores) {
      expect(await endOf(stores, "hash of k-1")).toBeUndefined();
      expect(await endOf(stores, "second")).toEqual(["k-1", NOW + 700]);
      expect(await endOf(stores, "third")).toEqual(["k-1", null]);
    },
  },
  {
    method: "keys.rotate",
    title: "keeps only the new secret without an overlap",
    async setup(stores) {
      await addOwner(stores);
      await addKey(stores, makeKey("k-1", { expires_at: null }));
      await stores.keys.rotate(rotation("second", NOW + 7), NOW + 70);
    },
    act: ({ keys }) => keys.rotate(rotation("third", NOW + 8), NOW + 8),
    async check(_, stores) {
      for (const hash of ["hash of k-1", "second"]) {
        expect(await endOf(stores, hash)).toBeUndefined();
      }
      expect(await endOf(stores, "third")).toEqual(["k-1", null]);
    },
  },
  ...[makeKey("k-1", { expires_at: NOW + 7 }), makeKey("k-1", { revoked_at: NOW })].map(
    (key): Case => ({
      method: "keys.rotate",
      title: `leaves a key alone that is ${key.revoked_at === null ? "expired" : "revoked"}`,
      async setup(stores) {
        await addOwner(stores);
        await addKey(stores, key);
      },
      act: ({ keys }) => keys.rotate(rotation("second", NOW + 7), NOW + 70),
      async check(answer, stores) {
        expect(answer).toEqual(key);
        expect(await endOf(stores, "hash of k-1")).toEqual(["k-1", null]);
        expect(await endOf(stores, "second")).toBeUndefined();
      },
    }),
  ),
  {
    method: "keys.rotate",
    title: "adds no secret to an unknown key",
    act: ({ keys }) => keys.rotate(rotation("second", NOW), NOW + 70),
    async check(answer, stores) {
      expect(answer).toBeUndefined();
      expect(await endOf(stores, "second")).toBeUndefined();
    },
  },
];

/** A model without grants, unless given. */
const standing = (id: string, fields: Partial<ModelStatus> = {}): ModelStatus => ({
  id,
  first_seen_at: NOW,
  is_off: false,
  is_blocked: false,
  is_granted: false,
  ...fields,
});
const addModels = ({ models }: Stores) => models.see(["stub-2", "stub-1"], NOW);
const addOwnerAndModels = async (stores: Stores) => {
  await addOwner(stores);
  await addModels(stores);
};
const granted = { is_granted: true };

const modelCases: Case[] = [
  {
    method: "models.see",
    title: "keeps the time at which a model was first configured",
    setup: ({ models }) => models.see(["stub-1"], NOW),
    act: ({ models }) => models.see(["stub-1", "stub-2"], NOW + 9),
    async check(_, { models }) {
      expect(await models.list(null)).toEqual([
        standing("stub-1"),
        standing("stub-2", { first_seen_at: NOW + 9 }),
      ]);
    },
  },
  {
    method: "models.see",
    title: "keeps the switches of a model that is configured again",
    async setup(stores) {
      await addModels(stores);
      await stores.models.turn("stub-1", "is_off", true, NOW);
    },
    act: ({ models }) => models.see(["stub-1"], NOW + 9),
    check: async (_, { models }) =>
      expect(await models.find("stub-1", null)).toEqual(standing("stub-1", { is_off: true })),
  },
  {
    method: "models.list",
    title: "is empty in a new database",
    act: ({ models }) => models.list(null),
    check: (answer) => expect(answer).toEqual([]),
  },
  {
    method: "models.list",
    title: "lists one account's grants, for existing models only",
    async setup(stores) {
      await addOwnerAndModels(stores);
      await stores.accounts.create(other);
      await stores.models.grant(owner.id, "stub-1", NOW);
      await stores.models.grant(other.id, "stub-2", NOW);
      await stores.models.grant(owner.id, "stub-3", NOW);
    },
    act: ({ models }) => models.list(owner.id),
    async check(answer, { models }) {
      expect(answer).toEqual([standing("stub-1", granted), standing("stub-2")]);
      expect(await models.list(null)).toEqual([standing("stub-1"), standing("stub-2")]);
    },
  },
  {
    method: "models.find",
    title: "finds a model with one account's grant, or without an account",
    async setup(stores) {
      await addOwnerAndModels(stores);
      await stores.models.grant(owner.id, "stub-1", NOW);
      await stores.models.turn("stub-1", "is_blocked", true, NOW);
    },
    act: ({ models }) => models.find("stub-1", owner.id),
    async check(answer, { models }) {
      const blocked = standing("stub-1", { is_blocked: true });
      expect(answer).toEqual({ ...blocked, ...granted });
      expect(await models.find("stub-1", null)).toEqual(blocked);
      expect(await models.find("stub-2", owner.id)).toEqual(standing("stub-2"));
      expect(await models.find("STUB-1", null)).toBeUndefined();
    },
  },
  {
    method: "models.turn",
    title: "sets one switch, and leaves the other and other models unchanged",
    async setup(stores) {
      await addModels(stores);
      await stores.models.turn("stub-1", "is_blocked", true, NOW);
    },
    act: ({ models }) => models.turn("stub-1", "is_off", true, NOW + 9),
    async check(answer, { models }) {
      const both = standing("stub-1", { is_off: true, is_blocked: true });
      expect(answer).toEqual(both);
      expect(await models.list(null)).toEqual([both, standing("stub-2")]);
      const off = standing("stub-1", { is_off: true });
      expect(await models.turn("stub-1", "is_blocked", false, NOW)).toEqual(off);
      expect(await models.turn("stub-1", "is_off", false, NOW)).toEqual(standing("stub-1"));
      // A repeat changes nothing.
      expect(await models.turn("stub-1", "is_off", false, NOW)).toEqual(standing("stub-1"));
    },
  },
  {
    method: "models.turn",
    title: "stores a model that no server has offered",
    act: ({ models }) => models.turn("stub-1", "is_off", true, NOW),
    check: async (_, { models }) =>
      expect(await models.list(null)).toEqual([standing("stub-1", { is_off: true })]),
  },
  {
    method: "models.grant",
    title: "grants one model to one account",
    setup: addOwnerAndModels,
    act: ({ models }) => models.grant(owner.id, "stub-1", NOW),
    async check(_, { models }) {
      expect(await models.find("stub-1", owner.id)).toMatchObject(granted);
      expect(await models.find("stub-1", other.id)).toMatchObject({ is_granted: false });
    },
  },
  {
    method: "models.listGrants",
    title: "lists the grants of every account, then by model",
    async setup(stores) {
      await addOwnerAndModels(stores);
      await stores.accounts.create(other);
      for (const model of ["stub-2", "stub-1"]) {
        for (const { id } of [other, owner]) await stores.models.grant(id, model, NOW);
      }
    },
    act: ({ models }) => models.listGrants(),
    check: (answer) =>
      expect(answer).toEqual(
        [owner.id, other.id]
          .toSorted()
          .flatMap((account_id) => ["stub-1", "stub-2"].map((model) => ({ account_id, model }))),
      ),
  },
  {
    method: "models.grant",
    title: "has the same effect when repeated",
    async setup(stores) {
      await addOwnerAndModels(stores);
      await stores.models.grant(owner.id, "stub-1", NOW);
    },
    act: ({ models }) => models.grant(owner.id, "stub-1", NOW + 1),
    check: async (_, { models }) =>
      expect(await models.find("stub-1", owner.id)).toMatchObject(granted),
  },
  {
    method: "models.ungrant",
    title: "revokes one grant, and reports whether it existed",
    async setup(stores) {
      await addOwnerAndModels(stores);
      await stores.accounts.create(other);
      for (const { id } of [owner, other]) await stores.models.grant(id, "stub-1", NOW);
      await stores.models.grant(owner.id, "stub-2", NOW);
    },
    act: ({ models }) => models.ungrant(owner.id, "stub-1"),
    async check(answer, { models }) {
      expect(answer).toBe(true);
      expect(await models.list(owner.id)).toEqual([
        standing("stub-1"),
        standing("stub-2", granted),
      ]);
      expect(await models.ungrant(owner.id, "stub-1")).toBe(false);
      expect(await models.find("stub-1", other.id)).toMatchObject(granted);
    },
  },
];

const unit = (fields: Partial<ManagedServerRow> = {}): ManagedServerRow => ({
  id: "u-1",
  state: "up",
  is_put_down: false,
  changed_at: NOW,
  starts: 0,
  recent_starts_ms: [],
  started_at: null,
  stopped_at: null,
  ...fields,
});

const unitCases: Case[] = [
  {
    method: "units.note",
    title: "stores a managed server's state and the time of its stop",
    setup: ({ units }) => units.note("u-2", "up", false, NOW),
    act: ({ units }) => units.note("u-1", "stopped", true, NOW + 5),
    async check(_, { units }) {
      const stopped = { stopped_at: NOW + 5, is_put_down: true };
      const row = unit({ ...stopped, state: "stopped", changed_at: NOW + 5 });
      expect(await units.list()).toEqual([row, unit({ id: "u-2" })]);
      await units.note("u-1", "starting", true, NOW + 9);
      expect(await units.find("u-1")).toEqual({ ...row, state: "starting", changed_at: NOW + 9 });
    },
  },
  {
    method: "units.note",
    title: "keeps the learned start times",
    setup: ({ units }) => units.learn("u-1", 40_000, NOW),
    act: ({ units }) => units.note("u-1", "failed", false, NOW + 5),
    async check(_, { units }) {
      const learned = { starts: 1, recent_starts_ms: [40_000], started_at: NOW };
      const row = unit({ ...learned, state: "failed", changed_at: NOW + 5 });
      expect(await units.find("u-1")).toEqual(row);
    },
  },
  {
    method: "units.use",
    title: "counts a use, and tells whether the managed server was stopped",
    setup: async ({ units }) => {
      await units.note("u-1", "up", false, NOW);
      await units.note("u-2", "stopping", true, NOW);
    },
    act: ({ units }) => units.use("u-1"),
    async check(answer, { units }) {
      const { uses, is_put_down } = answer as { uses: number; is_put_down: boolean };
      expect(is_put_down).toBe(false);
      expect(await units.use("u-1")).toEqual({ uses: uses + 1, is_put_down });
      expect(await units.use("u-2")).toMatchObject({ is_put_down: true });
      expect(await units.use("u-3")).toBeUndefined();
    },
  },
  {
    method: "units.findUse",
    title: "finds how often it was used, where each note counts too",
    setup: async ({ units }) => {
      for (let times = 0; times < 2; times++) await units.note("u-1", "up", false, NOW);
      await units.use("u-1");
    },
    act: ({ units }) => units.findUse("u-1"),
    check: (answer) => expect(answer).toEqual({ uses: 2, is_put_down: false }),
  },
  {
    method: "units.beginStop",
    title: "notes a stop only where it was not used since",
    setup: async ({ units }) => {
      for (const id of ["u-1", "u-2"]) await units.note(id, "up", false, NOW);
      await units.use("u-2");
    },
    act: ({ units }) => units.beginStop("u-1", 0, NOW + 5),
    async check(answer, { units }) {
      expect(answer).toBe(true);
      const row = unit({ state: "stopping", is_put_down: true, changed_at: NOW + 5 });
      expect(await units.find("u-1")).toEqual(row);
      expect(await units.beginStop("u-2", 0, NOW + 5)).toBe(false);
      expect(await units.find("u-2")).toEqual(unit({ id: "u-2" }));
    },
  },
  {
    method: "units.learn",
    title: "keeps the last five start times, and marks the managed server as up",
    async setup({ units }) {
      await units.note("u-1", "starting", true, NOW);
      for (let n = 1; n <= 5; n++) await units.learn("u-1", n, NOW + n);
    },
    act: ({ units }) => units.learn("u-1", 6, NOW + 6),
    check: async (_, { units }) =>
      expect(await units.find("u-1")).toEqual(
        unit({
          changed_at: NOW + 6,
          started_at: NOW + 6,
          starts: 6,
          recent_starts_ms: [6, 5, 4, 3, 2],
        }),
      ),
  },
  {
    method: "units.find",
    title: "does not find a managed server that was never started",
    act: ({ units }) => units.find("u-1"),
    check: (answer) => expect(answer).toBeUndefined(),
  },
  {
    method: "units.list",
    title: "is empty in a new database",
    act: ({ units }) => units.list(),
    check: (answer) => expect(answer).toEqual([]),
  },
];

export const cases: readonly Case[] = [
  ...accountCases,
  ...keyCases,
  ...keyChangeCases,
  ...rotationCases,
  ...modelCases,
  ...unitCases,
  ...requestLogCases,
  ...usageCases,
  ...limitCases,
  ...budgetCases,
  ...holdCases,
  ...installationCases,
  ...operatorCases,
  ...sessionCases,
  ...approvalLinkCases,
  ...agentCases,
  ...approvalCases,
  ...sweepCases,
  ...threadCases,
  ...processCases,
  ...counterCases,
  ...evaluationCases,
  ...runStartCases,
  ...runCases,
  ...runImageCases,
  ...runWorkCases,
  ...runRecordCases,
  ...runRouteCases,
  ...runOverviewCases,
  ...toolCases,
  ...mcpCases,
  ...connectionCases,
  ...noteCases,
  ...outboxCases,
  ...webhookCases,
  ...webhookDeliveryCases,
  ...webhookListCases,
  ...webhookClaimCases,
  ...webhookSettleCases,
  ...secretCases,
  ...triggerCases,
  ...triggerListCases,
  ...triggerArchivingCases,
  ...triggerHookCases,
  ...fireCases,
  ...dueCases,
  ...inventoryIdCases,
  ...inventoryCases,
  // Refused starts follow, since the matrix kills the first case of each write.
  ...storageCases,
];
