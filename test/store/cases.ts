// What every store method must do, for the conformance suite and the crash matrix.
import { expect } from "bun:test";
import type { Key } from "../../src/access/key.ts";
import { accountStore, keyStore } from "../../src/access/store.ts";
import { modelStore } from "../../src/models/store.ts";
import type { Database } from "../../src/platform/database/index.ts";

export function bindHouses(database: Database) {
  return {
    accounts: database.bind(accountStore),
    keys: database.bind(keyStore),
    models: database.bind(modelStore),
  };
}
export type Houses = ReturnType<typeof bindHouses>;

export interface Case {
  /** `store.method` */
  method: string;
  /** Goes on from the method's name. */
  title: string;
  /** What is there before. */
  given?(houses: Houses): Promise<unknown>;
  /** One call of the method. A write's first case changes something: there the matrix kills it. */
  act(houses: Houses): Promise<unknown>;
  /** Judges what `act` answered, and what can be read afterwards. */
  judge(answer: unknown, houses: Houses): Promise<void> | void;
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
const secretOf = (key: Key) => ({
  hash: `hash of ${key.id}`,
  key_id: key.id,
  created_at: NOW,
  expires_at: null,
});
const addOwner = ({ accounts }: Houses) => accounts.create(owner);
const addKey = async (houses: Houses, key: Key) => {
  await houses.keys.create(key, secretOf(key));
};

const accountCases: Case[] = [
  {
    method: "accounts.create",
    title: "keeps the account",
    act: addOwner,
    async judge(answer, { accounts }) {
      expect(answer).toBe(true);
      expect(await accounts.list()).toEqual([owner]);
    },
  },
  {
    method: "accounts.create",
    title: "leaves a taken name to its owner",
    given: addOwner,
    act: ({ accounts }) => accounts.create({ ...other, name: owner.name }),
    async judge(answer, { accounts }) {
      expect(answer).toBe(false);
      expect(await accounts.list()).toEqual([owner]);
    },
  },
  {
    method: "accounts.createFirst",
    title: "makes an account with its key",
    act: ({ accounts }) => accounts.createFirst(owner, makeKey("k-1"), secretOf(makeKey("k-1"))),
    async judge(answer, { accounts, keys }) {
      expect(answer).toBe(true);
      expect(await accounts.list()).toEqual([owner]);
      expect(await keys.list(null)).toEqual([makeKey("k-1")]);
      expect(await keys.find("hash of k-1")).toMatchObject({ id: "k-1" });
    },
  },
  {
    method: "accounts.createFirst",
    title: "does nothing where an account is there already",
    given: addOwner,
    act: ({ accounts }) => accounts.createFirst(other, makeKey("k-1"), secretOf(makeKey("k-1"))),
    async judge(answer, { accounts, keys }) {
      expect(answer).toBe(false);
      expect(await accounts.list()).toEqual([owner]);
      expect(await keys.list(null)).toEqual([]);
    },
  },
  {
    method: "accounts.list",
    title: "sorts by the names' code points, capitals first",
    async given({ accounts }) {
      for (const name of ["b", "B", "a.b", "a-b", "ab", "é"]) {
        await accounts.create({ id: `id of ${name}`, name, created_at: NOW });
      }
    },
    act: ({ accounts }) => accounts.list(),
    judge(answer) {
      const names = (answer as { name: string }[]).map((account) => account.name);
      expect(names).toEqual(["B", "a-b", "a.b", "ab", "b", "é"]);
    },
  },
  {
    method: "accounts.find",
    title: "finds by the exact name",
    given: addOwner,
    act: ({ accounts }) => accounts.find("owner"),
    async judge(answer, { accounts }) {
      expect(answer).toEqual(owner);
      expect(await accounts.find("Owner")).toBeUndefined();
    },
  },
  {
    method: "accounts.count",
    title: "is a number",
    async given({ accounts }) {
      await accounts.create(owner);
      await accounts.create(other);
    },
    act: ({ accounts }) => accounts.count(),
    judge: (answer) => expect(answer).toBe(2),
  },
];

const keyCases: Case[] = [
  {
    method: "keys.create",
    title: "keeps a key with everything, and its secret",
    given: addOwner,
    act: ({ keys }) => keys.create(makeKey("k-1"), secretOf(makeKey("k-1"))),
    async judge(_, { keys }) {
      expect(await keys.find("hash of k-1")).toEqual({
        ...makeKey("k-1"),
        secret_expires_at: null,
      });
    },
  },
  {
    method: "keys.create",
    title: "keeps a key with nothing, and a secret that ends",
    act: ({ keys }) =>
      keys.create(makeKey("k-1", bare), { ...secretOf(makeKey("k-1")), expires_at: NOW + 5 }),
    async judge(_, { keys }) {
      expect(await keys.find("hash of k-1")).toEqual({
        ...makeKey("k-1", bare),
        secret_expires_at: NOW + 5,
      });
    },
  },
  {
    method: "keys.find",
    title: "knows nothing of another secret",
    async given(houses) {
      await addOwner(houses);
      await addKey(houses, makeKey("k-1"));
    },
    act: ({ keys }) => keys.find("hash of k-2"),
    judge: (answer) => expect(answer).toBeUndefined(),
  },
  {
    method: "keys.list",
    title: "shows the newest first, of one account or of all",
    async given(houses) {
      await addOwner(houses);
      await addKey(houses, makeKey("k-1"));
      await addKey(houses, makeKey("k-2", bare));
      await addKey(houses, makeKey("k-3"));
    },
    act: ({ keys }) => keys.list(owner.id),
    async judge(answer, { keys }) {
      expect(answer).toEqual([makeKey("k-3"), makeKey("k-1")]);
      expect(await keys.list(null)).toHaveLength(3);
      expect(await keys.list(other.id)).toEqual([]);
    },
  },
  {
    method: "keys.revoke",
    title: "dates the end of a key and answers with it",
    async given(houses) {
      await addOwner(houses);
      await addKey(houses, makeKey("k-1"));
      await addKey(houses, makeKey("k-2"));
    },
    act: ({ keys }) => keys.revoke("k-1", NOW + 7),
    async judge(answer, { keys }) {
      const revoked = makeKey("k-1", { revoked_at: NOW + 7 });
      expect(answer).toEqual(revoked);
      expect(await keys.list(owner.id)).toEqual([makeKey("k-2"), revoked]);
    },
  },
  {
    method: "keys.revoke",
    title: "leaves the date of an earlier end",
    async given(houses) {
      await addOwner(houses);
      await addKey(houses, makeKey("k-1", { revoked_at: NOW + 3 }));
    },
    act: ({ keys }) => keys.revoke("k-1", NOW + 7),
    judge: (answer) => expect(answer).toMatchObject({ revoked_at: NOW + 3 }),
  },
  {
    method: "keys.revoke",
    title: "answers nothing for an id that is nobody's",
    act: ({ keys }) => keys.revoke("k-1", NOW),
    judge: (answer) => expect(answer).toBeUndefined(),
  },
];

const modelCases: Case[] = [
  {
    method: "models.see",
    title: "keeps the first time that a model was named",
    given: ({ models }) => models.see(["stub-1"], NOW),
    act: ({ models }) => models.see(["stub-1", "stub-2"], NOW + 9),
    async judge(_, { models }) {
      expect(new Set(await models.listSeen())).toEqual(
        new Set([
          { id: "stub-1", first_seen_at: NOW },
          { id: "stub-2", first_seen_at: NOW + 9 },
        ]),
      );
    },
  },
  {
    method: "models.listSeen",
    title: "is empty at first",
    act: ({ models }) => models.listSeen(),
    judge: (answer) => expect(answer).toEqual([]),
  },
  {
    method: "models.grant",
    title: "permits one model to one account",
    given: addOwner,
    act: ({ models }) => models.grant(owner.id, "stub-1", NOW),
    async judge(_, { models }) {
      expect(await models.listGrants(owner.id)).toEqual(["stub-1"]);
      expect(await models.listGrants(other.id)).toEqual([]);
    },
  },
  {
    method: "models.grant",
    title: "twice is the same as once",
    async given(houses) {
      await addOwner(houses);
      await houses.models.grant(owner.id, "stub-1", NOW);
    },
    act: ({ models }) => models.grant(owner.id, "stub-1", NOW + 1),
    judge: async (_, { models }) => expect(await models.listGrants(owner.id)).toEqual(["stub-1"]),
  },
  {
    method: "models.listGrants",
    title: "names the models of one account only",
    async given({ accounts, models }) {
      await accounts.create(owner);
      await accounts.create(other);
      await models.grant(other.id, "stub-2", NOW);
    },
    act: ({ models }) => models.listGrants(owner.id),
    judge: (answer) => expect(answer).toEqual([]),
  },
  {
    method: "models.ungrant",
    title: "takes one permission away",
    async given(houses) {
      await addOwner(houses);
      await houses.models.grant(owner.id, "stub-1", NOW);
      await houses.models.grant(owner.id, "stub-2", NOW);
    },
    act: ({ models }) => models.ungrant(owner.id, "stub-1"),
    judge: async (_, { models }) => expect(await models.listGrants(owner.id)).toEqual(["stub-2"]),
  },
];

export const cases: readonly Case[] = [...accountCases, ...keyCases, ...modelCases];
