// Cases of the stores that read across the tables of all modules.
import { expect } from "bun:test";
import type { Key } from "../../src/access/index.ts";
import type { Case, Stores } from "./cases.ts";

const NOW = Date.UTC(2026, 10, 20);

const IDS = [1, 2, 3].map((n) => `0198a6f2-0000-7000-8000-0000000abc0${n}`);

const makeKey = (id: string): Key => ({
  ...{ id, account_id: null, name: null, kind: "ordinary", scopes: [], models: null },
  ...{ max_output_tokens: null, created_at: NOW, expires_at: null, revoked_at: null },
});
const addKeys = async ({ keys }: Stores) => {
  for (const id of IDS) {
    const secret = { hash: `hash of ${id}`, key_id: id, created_at: NOW, expires_at: null };
    await keys.create(makeKey(id), secret);
  }
};
const search = (part: string, before = "g", limit = 100) => {
  return ({ ids }: Stores) => ids.search("key", { part, before, limit });
};

const idCases: Case[] = [
  {
    method: "ids.search",
    title: "finds by the last characters",
    setup: addKeys,
    act: search("0abc02"),
    check: (answer) => expect(answer).toEqual({ found: [IDS[1]], lastId: null }),
  },
  {
    method: "ids.search",
    title: "finds by the first characters, the newest first, and by none between",
    setup: addKeys,
    act: search("0198a6f2-00"),
    async check(answer, stores) {
      expect(answer).toEqual({ found: IDS.toReversed(), lastId: null });
      expect(await search("-7000-8")(stores)).toEqual({ found: [], lastId: null });
    },
  },
  {
    method: "ids.search",
    title: "goes on behind the last id that it has searched",
    setup: addKeys,
    act: search("0198a6f2", "g", 2),
    async check(answer, stores) {
      expect(answer).toEqual({ found: [IDS[2], IDS[1]], lastId: IDS[1] });
      expect(await search("0198a6f2", IDS[1]!, 2)(stores)).toEqual({
        found: [IDS[0]!],
        lastId: null,
      });
    },
  },
  {
    method: "ids.search",
    title: "searches every kind of object",
    act: async ({ ids }) => {
      const kinds = ["agent", "run", "approval", "connection", "trigger", "endpoint"] as const;
      const asked = { part: "0198a6f2", before: "g", limit: 10 };
      return Promise.all([...kinds, "delivery" as const].map((kind) => ids.search(kind, asked)));
    },
    check: (answer) => expect(answer).toEqual(Array(7).fill({ found: [], lastId: null })),
  },
];

const activityCases: Case[] = [
  {
    method: "activity.count",
    title: "counts nothing in a new database",
    act: ({ activity }) => activity.count(),
    check: (answer) =>
      expect(answer).toEqual({
        runs: new Map(),
        suspects: 0,
        approvals: { count: 0, oldest: null },
        webhooks: { waiting: 0, failing: 0, disabled: 0 },
      }),
  },
];

export const inventoryCases: Case[] = [...idCases, ...activityCases];
